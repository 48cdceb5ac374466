"""Where outcomes come from: the host, its devices, the versions of what matters."""

from msgspec import Struct

from roofscope.profiling.devices.device import Device


class Package(Struct, frozen=True):
    name: str
    version: str


class Environment(Struct, frozen=True):
    """Where outcomes come from."""

    host: str
    operating_system: str
    python: str
    packages: tuple[Package, ...]
    devices: tuple[Device, ...]
    missing: tuple[str, ...] = ()  # one sentence per capability that is not here
    roofscope_version: str | None = None  # of the worker; older sessions do not say
    cuda_version: str | None = None  # that torch was built for

    def version(self, package: str) -> str | None:
        return next((found.version for found in self.packages if found.name == package), None)

    def device(self, device_id: str) -> Device | None:
        return next((device for device in self.devices if device.id == device_id), None)
