// What the parts of the simulated device share: its one device, its storages, and the CPU tensors that look into them.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

namespace neuron_simulated {

// The device of this process. Every other index is refused.
c10::Device device();

// Whether to go on where the device would refuse: somebody watches, and wants to see what comes after.
bool tolerated(const char* kind, const std::string& message);

// The CPU storage that holds the bytes of a storage on the simulated device.
c10::StorageImpl* cpu_storage(const c10::Storage& storage);

// One call of an operator or a collective: translates tensors to the CPU and back without copying a byte. A CPU result
// that lies in the storage of an argument comes back as a tensor in that argument's storage, so views stay views.
class Translation {
 public:
  at::Tensor to_cpu(const at::Tensor& tensor);
  c10::Storage to_cpu(const c10::Storage& storage);
  at::Tensor to_device(const at::Tensor& tensor);
  // Gives `tensor` the storage, size and strides that `alias`, its tensor on the CPU, has by now.
  void update(const at::Tensor& tensor, const at::Tensor& alias);

 private:
  struct Pair {
    c10::StorageImpl* cpu;
    c10::Storage device;
  };
  c10::Storage device_storage(const c10::Storage& cpu);
  c10::SmallVector<Pair, 8> pairs_;
};

} // namespace neuron_simulated
