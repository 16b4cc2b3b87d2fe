class MpDeviceLoader:
    def __init__(self, loader, device, **kwargs):
        self._loader, self._device = loader, device

    def __iter__(self):
        return (self._send(batch) for batch in self._loader)

    def __len__(self):
        return len(self._loader)

    def _send(self, batch):
        if isinstance(batch, dict):
            return {key: self._send(value) for key, value in batch.items()}
        if isinstance(batch, (list, tuple)):
            return [self._send(value) for value in batch]
        return batch.to(self._device)
