# The image of the DaemonSet, built in the repository's root: docker build -f deploy/agent.Dockerfile -t roundwatch-agent:0.1.0 .
FROM python:3.12-slim
COPY agents /src
RUN pip install --no-cache-dir '/src[nvidia]' && rm -rf /src
ENV PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["roundwatch"]
