"""Where the numbers of a report come from: devices, environments, ceilings, proofs."""

from msgspec import Struct

from roofscope.app.presentation.ceiling_conditions import conditions_text
from roofscope.app.presentation.fact import Fact
from roofscope.app.presentation.formatting import MISSING, clock_text, count_text, memory_text, power_text
from roofscope.app.presentation.proof_text import finding_text
from roofscope.app.presentation.verdict_text import ceiling_value_text, limit_name
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.results.session import Session


class ProofRow(Struct, frozen=True):
    name: str
    judgement: str
    finding: str
    limit: str


class CeilingRow(Struct, frozen=True):
    name: str
    value: str
    source: str
    conditions: str
    method: str
    recorded: str


def device_facts(session: Session) -> list[tuple[str, list[Fact]]]:
    """The sheet of each device."""
    return [(f"{device.name} ({device.id})", _device(device)) for device in session.devices]


def _device(device: Device) -> list[Fact]:
    is_gpu = device.kind is DeviceKind.CUDA
    capability = device.compute_capability
    facts = [
        Fact("UUID", device.uuid),
        Fact("Driver", device.driver_version or MISSING),
        Fact("Compute capability", ".".join(map(str, capability)) if capability else MISSING),
        Fact("Multiprocessors", count_text(device.multiprocessor_count)),
        Fact("Cores", count_text(device.core_count)),
        Fact("Highest clock", clock_text(device.max_clock_hz)),
        Fact("Highest memory clock", clock_text(device.max_memory_clock_hz)),
        Fact("Memory", memory_text(device.memory_bytes)),
        Fact("L2 cache" if is_gpu else "L3 cache", memory_text(device.last_level_cache_bytes)),
        Fact("Memory bus", f"{device.bus_width_bits} bit" if device.bus_width_bits else MISSING),
        Fact("Power limit", power_text(device.power_limit_w)),
        Fact("ECC", _on(device.ecc_enabled)),
        Fact("MIG", _on(device.mig_enabled)),
        Fact("Other processes", count_text(len(device.processes) or None)),
    ]
    return [fact for fact in facts if fact.value != MISSING]


def _on(value: bool | None) -> str:
    return MISSING if value is None else "on" if value else "off"


def environment_facts(session: Session) -> list[Fact]:
    """Versions of what measured; each environment that differs, once."""
    environments = {origin.environment: origin for origin in session.origins} or (
        {session.environment: None} if session.environment else {}
    )
    facts = [Fact("Session", session.path.name), Fact("Created", _date(session.created_at))]
    facts += [Fact(f"Label {key}", value) for key, value in session.identity.labels.items()]
    for environment in environments:
        facts += _environment(environment)
    return facts


def _environment(environment: Environment) -> list[Fact]:
    facts = [
        Fact("Host", environment.host),
        Fact("System", environment.operating_system),
        Fact("Python", environment.python),
        Fact("Roofscope", environment.roofscope_version or ""),
        Fact("CUDA of torch", environment.cuda_version or ""),
        *(Fact(package.name, package.version) for package in environment.packages),
    ]
    return [fact for fact in facts if fact.value]


def ceiling_rows(session: Session) -> list[CeilingRow]:
    """Of the device that is shown, the newest of each."""
    return [
        CeilingRow(
            limit_name(ceiling),
            ceiling_value_text(ceiling),
            str(ceiling.source),
            conditions_text(ceiling),
            ceiling.method,
            _date(ceiling.recorded_at),
        )
        for ceiling in session.roofline.ceilings
    ]


def proof_rows(session: Session) -> list[ProofRow]:
    """The newest of each name."""
    return [
        ProofRow(str(proof.name), str(proof.judgement), finding_text(proof), proof.limit)
        for proof in session.newest_proofs
    ]


def _date(timestamp: str) -> str:
    return timestamp.replace("T", " ").partition(".")[0]
