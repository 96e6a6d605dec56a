"""Notes, written in Markdown, as pages show them: no HTML of theirs, no pictures, no dangerous links."""

from collections.abc import Sequence

from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from dashboard.teams.names import legible

# A picture would be fetched from wherever the note says, by everybody who looks; the policy of pages forbids it anyway.
_KNOWS = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    tokens[index].attrSet("rel", "nofollow noopener noreferrer")
    rendered: str = self.renderToken(tokens, index, options, env)
    return rendered


_KNOWS.add_render_rule("link_open", _link)


def rendered(note: str) -> SafeString:
    """The note as HTML by markdown-it, which escapes all text and lets no javascript:, data: or file: link be."""
    html: str = _KNOWS.render(legible(note))
    return SafeString(html)  # html=False: every tag in it is markdown-it's own
