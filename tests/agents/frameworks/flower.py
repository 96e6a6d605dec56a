"""What stands around the README's lines for Flower: its state in memory, and two nodes, one with a wrong clock."""

import secrets
import threading
import time
from uuid import uuid4

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import NOOP_ACCOUNT_NAME, NOOP_FLWR_AID, SUPERLINK_NODE_ID
from flwr.proto.task_pb2 import Task
from flwr.server.superlink.linkstate import LinkStateFactory
from flwr.server.superlink.linkstate.in_memory_linkstate import RunRecord
from flwr.serverapp import ServerApp
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.federation import NoOpFederationManager
from flwr.superlink.grid.inmemory_grid import InMemoryGrid

from roundwatch.integrations import flower as integration

AHEAD_NS = 5_000_000_000  # what the second node's clock is ahead of the server's
clock = threading.local()
right_ns = integration.now_ns
integration.now_ns = lambda: right_ns() + getattr(clock, "ahead_ns", 0)  # type: ignore[assignment]
arrays = ArrayRecord({"weights": Array(np.zeros(4, np.float32))})


def next_batches(_: Context) -> list[int]:
    time.sleep(0.01)
    return [1, 2, 3]


def trained(message: Message, batches: list[int]) -> Message:
    time.sleep(0.02)
    metrics = MetricRecord({"num-examples": len(batches), "loss": 0.5})
    return Message(RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message)


def evaluated(message: Message, _: Context) -> Message:
    time.sleep(0.01)
    return Message(RecordDict({"metrics": MetricRecord({"num-examples": 3, "loss": 0.25})}), reply_to=message)


def node(state: object, app: ClientApp, node_id: int, run_id: int, part: int, over: threading.Event) -> None:
    """What a SuperNode does: takes its messages, runs the app, gives back its replies."""
    clock.ahead_ns = part * AHEAD_NS
    context = Context(run_id, node_id, {"partition-id": part}, RecordDict(), {})
    while not over.wait(0.01):
        for message in state.get_message_ins(node_id=node_id, limit=1):
            reply = app(message, context)
            reply.metadata.__dict__["_message_id"] = str(uuid4())
            state.store_message_res(reply)


def run_both(client_app: ClientApp, server_app: ServerApp, nodes: int = 2) -> None:
    """One run of both apps, as Flower's own simulation has it but for its actors."""
    factory = LinkStateFactory(FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory())
    state, run = factory.state(), Run.create_empty(run_id=7)
    run.federation_id, run.primary_task_id = NOOP_FEDERATION_ID, 1
    state.run_ids[run.run_id] = RunRecord(run=run)
    state.task_store[1] = Task(task_id=1, run_id=run.run_id)
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, run.run_id, SUPERLINK_NODE_ID
    grid, over = InMemoryGrid(factory, pull_interval=0.02), threading.Event()
    grid.set_run(run)
    threads = []
    for part in range(nodes):
        node_id = state.create_node(NOOP_FLWR_AID, NOOP_ACCOUNT_NAME, secrets.token_bytes(32), heartbeat_interval=1e9)
        state.acknowledge_node_heartbeat(node_id=node_id, heartbeat_interval=1e9)
        threads.append(threading.Thread(target=node, args=(state, client_app, node_id, run.run_id, part, over)))
    for thread in threads:
        thread.start()
    try:
        server_app(grid, Context(run.run_id, 0, {}, RecordDict(), {}))
    finally:
        over.set()
        for thread in threads:
            thread.join()


def that_fails() -> None:
    """In its second round, while the server aggregates; its one client fails in no round."""
    from flwr.serverapp.strategy import FedAvg

    class Failing(FedAvg):
        def aggregate_train(self, server_round: int, replies: object) -> object:
            if server_round == 2:
                raise ValueError("no such round")
            return super().aggregate_train(server_round, replies)

    clients, server = ClientApp(mods=[integration.client_mod]), ServerApp()
    clients.train()(lambda message, context: trained(message, next_batches(context)))
    clients.evaluate()(evaluated)

    @server.main()
    def main(grid: InMemoryGrid, _: Context) -> None:
        strategy = integration.watch(
            Failing(min_available_nodes=1, min_train_nodes=1, min_evaluate_nodes=1), project="fails"
        )
        strategy.start(grid=grid, initial_arrays=arrays, num_rounds=3, train_config=ConfigRecord({"lr": 0.1}))

    run_both(clients, server, nodes=1)
