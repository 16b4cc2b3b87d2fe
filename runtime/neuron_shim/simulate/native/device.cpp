// A device that computes on the CPU: allocator, device guard, hooks, generator, and every operator of the CPU.
//
// A tensor of the device owns a storage whose bytes are those of a CPU storage. An operator runs its CPU kernel on CPU
// tensors over the same bytes. So nothing is copied, and results are the CPU's, bit for bit.

#include "device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>

namespace neuron_simulated {
namespace {

using c10::DeviceType;

struct State {
  c10::DeviceIndex index = 0;
  c10::DeviceIndex count = 1;
  std::thread::id main_thread;
  std::atomic<bool> initialized{false};
  std::atomic<bool> forked{false};
  std::atomic<bool> records_operators{false};
  std::atomic<int64_t> allocated{0};
  std::atomic<int64_t> peak{0};
  std::mutex mutex;
  std::map<std::string, int64_t> operators;
  py::object* on_first_use = nullptr;
  py::object* on_refusal = nullptr;
  // Of operators that run one by one: each set of shapes is reported once.
  std::atomic<bool> reports_shapes{false};
  std::unordered_set<uint64_t> shapes;
  py::object* on_new_shape = nullptr;
};

State& state() {
  static auto* state = new State; // never destroyed: tensors may outlive static destructors
  return *state;
}

} // namespace

bool tolerated(const char* kind, const std::string& message) {
  auto& s = state();
  if (!s.on_refusal) {
    return false;
  }
  py::gil_scoped_acquire gil;
  return (*s.on_refusal)(kind, message).cast<bool>();
}

namespace {

void check_index(c10::Device asked) {
  TORCH_CHECK(
      !asked.has_index() || asked.index() == state().index,
      "Simulated Neuron: this process has one device, neuron:", int(state().index), ", and ", asked,
      " is not it. TorchNeuron gives each process one core; start one process per core with torchrun.");
}

void check_dtype(c10::ScalarType dtype) {
  if (C10_LIKELY(!c10::isComplexType(dtype))) {
    return;
  }
  auto message = c10::str(
      "Simulated Neuron: the device has no complex dtype, and ", dtype,
      " was asked for. Compute with real and imaginary parts, or on the CPU.");
  TORCH_CHECK_TYPE(tolerated("complex", message), message);
}

// Called before memory of the device is handed out: the first time is what TorchNeuron calls initializing its runtime.
void use_device() {
  auto& s = state();
  if (C10_UNLIKELY(s.forked)) {
    std::string message =
        "Simulated Neuron: the device was used before this process was forked from its parent, and cannot be used "
        "here. Use the 'spawn' start method, and keep the device out of DataLoader workers.";
    TORCH_CHECK(tolerated("fork", message), message);
  }
  if (C10_LIKELY(s.initialized)) {
    return;
  }
  s.initialized = true;
  py::gil_scoped_acquire gil;
  if (s.on_first_use) {
    (*s.on_first_use)();
  }
}

// --- Storages

struct Held {
  c10::intrusive_ptr<c10::StorageImpl> cpu;
  int64_t counted;
};

void release(void* context) {
  auto* held = static_cast<Held*>(context);
  state().allocated -= held->counted;
  delete held;
}

c10::DataPtr hold(c10::intrusive_ptr<c10::StorageImpl> cpu) {
  auto& s = state();
  auto bytes = static_cast<int64_t>(cpu->nbytes());
  auto now = s.allocated += bytes;
  auto peak = s.peak.load();
  while (now > peak && !s.peak.compare_exchange_weak(peak, now)) {
  }
  auto* data = cpu->mutable_data();
  auto* held = new Held{std::move(cpu), bytes};
  return {data, held, &release, device()};
}

struct DeviceAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    use_device();
    return hold(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), bytes, c10::GetAllocator(DeviceType::CPU), /*resizable=*/true));
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return nullptr;
  }
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
};

DeviceAllocator device_allocator;

// After an operator of the CPU has moved or resized the bytes.
void refresh(c10::StorageImpl* storage, c10::StorageImpl* cpu) {
  if (storage->data() != cpu->data() || storage->nbytes() != cpu->nbytes()) {
    storage->set_data_ptr_noswap(hold(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(cpu)));
    storage->set_nbytes(cpu->nbytes());
  }
}

} // namespace

c10::Device device() {
  return {DeviceType::PrivateUse1, state().index};
}

c10::StorageImpl* cpu_storage(const c10::Storage& storage) {
  const auto& data = storage.data_ptr();
  TORCH_CHECK(
      data.get_deleter() == &release, "Simulated Neuron: a storage on ", storage.device(),
      " was not allocated by the simulated device.");
  return static_cast<Held*>(data.get_context())->cpu.get();
}

c10::Storage Translation::to_cpu(const c10::Storage& storage) {
  if (storage.device_type() != DeviceType::PrivateUse1) {
    return storage;
  }
  auto* cpu = cpu_storage(storage);
  bool known = false;
  for (const auto& pair : pairs_) {
    known = known || pair.cpu == cpu;
  }
  if (!known) {
    pairs_.push_back({cpu, storage});
  }
  return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(cpu));
}

at::Tensor Translation::to_cpu(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != DeviceType::PrivateUse1) {
    return tensor;
  }
  auto alias = at::detail::make_tensor<c10::TensorImpl>(
      to_cpu(tensor.storage()), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  if (C10_UNLIKELY(tensor.is_conj())) {
    alias._set_conj(true);
  }
  return alias;
}

c10::Storage Translation::device_storage(const c10::Storage& cpu) {
  auto* impl = cpu.unsafeGetStorageImpl();
  for (const auto& pair : pairs_) {
    if (pair.cpu == impl) {
      return pair.device;
    }
  }
  use_device();
  auto bytes = impl->nbytes();
  c10::Storage storage(
      c10::Storage::use_byte_size_t(), bytes, hold(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(impl)),
      &device_allocator, /*resizable=*/true);
  pairs_.push_back({impl, storage});
  return storage;
}

at::Tensor Translation::to_device(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.device().is_cpu()) {
    return tensor;
  }
  TORCH_CHECK(
      tensor.layout() == c10::kStrided, "Simulated Neuron: the device has dense tensors only, and an operator made one "
      "of layout ", tensor.layout(), ".");
  check_dtype(tensor.scalar_type());
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      device_storage(tensor.storage()), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), tensor.dtype());
  result.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  return result;
}

void Translation::update(const at::Tensor& tensor, const at::Tensor& alias) {
  if (!tensor.defined() || tensor.device().type() != DeviceType::PrivateUse1) {
    return;
  }
  auto* impl = tensor.unsafeGetTensorImpl();
  auto* cpu = alias.storage().unsafeGetStorageImpl();
  if (cpu != cpu_storage(tensor.storage())) {
    impl->set_storage_keep_dtype(device_storage(alias.storage()));
  }
  refresh(tensor.storage().unsafeGetStorageImpl(), cpu);
  if (tensor.sizes() != alias.sizes() || tensor.strides() != alias.strides() ||
      tensor.storage_offset() != alias.storage_offset()) {
    impl->set_sizes_and_strides(alias.sizes(), alias.strides(), alias.storage_offset());
  }
}

namespace {

// --- Random numbers: a seed and a count of the numbers drawn, as DTensor expects of a device

constexpr int64_t kStateBytes = 2 * sizeof(int64_t);

// Where an operator draws from: one generator of the CPU for each (seed, offset).
uint64_t mixed(uint64_t seed, uint64_t offset) {
  uint64_t value = seed + 0x9e3779b97f4a7c15ULL * (offset + 1); // splitmix64
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

struct Generator final : c10::GeneratorImpl {
  Generator() : GeneratorImpl(neuron_simulated::device(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

  void set_current_seed(uint64_t seed) override {
    seed_ = seed;
    offset_ = 0;
  }
  void set_offset(uint64_t offset) override {
    offset_ = offset;
  }
  uint64_t get_offset() const override {
    return offset_;
  }
  uint64_t current_seed() const override {
    return seed_;
  }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return seed_;
  }
  void set_state(const c10::TensorImpl& state) override {
    at::detail::check_rng_state(state);
    TORCH_CHECK(state.numel() == kStateBytes, "The state of the generator has ", kStateBytes, " bytes, not ", state.numel());
    const auto* numbers = static_cast<const int64_t*>(state.data());
    seed_ = static_cast<uint64_t>(numbers[0]);
    offset_ = static_cast<uint64_t>(numbers[1]);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    auto state = at::detail::empty_cpu({kStateBytes}, c10::kByte, /*pin_memory=*/false, std::nullopt);
    auto* numbers = static_cast<int64_t*>(state.mutable_data_ptr());
    numbers[0] = static_cast<int64_t>(seed_);
    numbers[1] = static_cast<int64_t>(offset_);
    return state.getIntrusivePtr();
  }
  Generator* clone_impl() const override {
    auto* copy = new Generator;
    copy->seed_ = seed_;
    copy->offset_ = offset_;
    return copy;
  }
  // The seed of the next draw.
  uint64_t next() {
    std::lock_guard<std::mutex> lock(mutex_);
    auto seed = mixed(seed_, offset_);
    offset_ += 4;
    return seed;
  }

 private:
  uint64_t seed_ = c10::default_rng_seed_val;
  uint64_t offset_ = 0;
};

const at::Generator& default_generator() {
  static auto* generator = new at::Generator(at::make_generator<Generator>());
  return *generator;
}

uint64_t next_seed(const at::Generator& generator) {
  TORCH_CHECK(
      generator.device().type() == DeviceType::PrivateUse1, "Expected a 'neuron' device type for generator but found '",
      generator.device().type(), "'");
  return static_cast<Generator*>(generator.unsafeGetGeneratorImpl())->next();
}

at::Generator cpu_generator(const at::Generator& generator) {
  return at::detail::createCPUGenerator(next_seed(generator));
}

// Lets an operator that has no generator argument, such as dropout, draw from the generator of the device.
class DrawFromDevice {
 public:
  DrawFromDevice() : cpu_(at::detail::getDefaultCPUGenerator()), kept_(cpu_.clone()) {
    std::lock_guard<std::mutex> lock(cpu_.mutex());
    cpu_.set_current_seed(next_seed(default_generator()));
  }
  ~DrawFromDevice() {
    std::lock_guard<std::mutex> lock(cpu_.mutex());
    cpu_.unsafeGetGeneratorImpl()->set_state(*kept_.unsafeGetGeneratorImpl()->get_state());
  }

 private:
  at::Generator cpu_;
  at::Generator kept_;
};

// --- Guard and hooks: one device, one queue of work, which is always done

struct Event {
  std::chrono::steady_clock::time_point recorded;
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  DeviceType type() const override {
    return DeviceType::PrivateUse1;
  }
  c10::Device exchangeDevice(c10::Device asked) const override {
    setDevice(asked);
    return device();
  }
  c10::Device getDevice() const override {
    return device();
  }
  void setDevice(c10::Device asked) const override {
    // The threads of autograd each take one of the devices that exist, whether they get work for it or not.
    if (std::this_thread::get_id() == state().main_thread) {
      check_index(asked);
    }
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }
  c10::Stream getDefaultStream(c10::Device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }
  c10::Stream exchangeStream(c10::Stream) const override {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) {
      *event = new Event;
    }
    static_cast<Event*>(*event)->recorded = std::chrono::steady_clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return state().count;
  }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    return c10::DeviceCapability();
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    TORCH_CHECK(first && second, "Both events must be recorded before the time between them is asked for.");
    auto between = static_cast<Event*>(second)->recorded - static_cast<Event*>(first)->recorded;
    return std::chrono::duration<double, std::milli>(between).count();
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

// Page-locked memory is ordinary memory here, and only remembers that it was asked for.
struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    auto* data = c10::GetAllocator(DeviceType::CPU)->raw_allocate(bytes);
    if (data) {
      std::lock_guard<std::mutex> lock(state().mutex);
      pinned().insert(data);
    }
    return {data, data, &unpin, c10::Device(DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &unpin;
  }
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
  static bool holds(const void* data) {
    std::lock_guard<std::mutex> lock(state().mutex);
    return pinned().count(data) > 0;
  }

 private:
  static std::set<const void*>& pinned() {
    static auto* pointers = new std::set<const void*>;
    return *pointers;
  }
  static void unpin(void* data) {
    if (data) {
      {
        std::lock_guard<std::mutex> lock(state().mutex);
        pinned().erase(data);
      }
      c10::GetAllocator(DeviceType::CPU)->raw_deallocate(data);
    }
  }
};

PinnedAllocator pinned_allocator;

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex index) const override {
    return state().initialized && index == state().index;
  }
  void init() const override {}
  c10::DeviceIndex deviceCount() const override {
    return state().count;
  }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    Guard().setDevice({DeviceType::PrivateUse1, index});
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return state().index;
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    setCurrentDevice(index);
    return state().index;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return exchangeDevice(index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    check_index({DeviceType::PrivateUse1, index});
    return default_generator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    check_index({DeviceType::PrivateUse1, index});
    return at::make_generator<Generator>();
  }
  bool isPinnedPtr(const void* data) const override {
    return PinnedAllocator::holds(data);
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return &pinned_allocator;
  }
  at::Device getDeviceFromPtr(void*) const override {
    return device();
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* cpu = cpu_storage(storage);
    at::native::resize_bytes_cpu(cpu, bytes);
    refresh(storage.unsafeGetStorageImpl(), cpu);
  }
};

// --- Operators

void record_operator(const c10::OperatorHandle& op) {
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().operators[c10::toString(op.operator_name())];
}

// Tells of an operator that meets these shapes and dtypes for the first time: TorchNeuron compiles a kernel for each
// (its cache knows the operator, the shapes and the dtypes, not the numbers). Views are no kernels.
void report_shapes(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& returns = op.schema().returns();
  if (!returns.empty() && returns[0].alias_info() && !returns[0].alias_info()->isWrite()) {
    return;
  }
  auto& s = state();
  const auto arguments = op.schema().arguments().size();
  uint64_t key = mixed(reinterpret_cast<uint64_t>(&op.schema()), arguments);
  auto each = [&](auto&& visit) {
    for (size_t i = stack.size() - arguments; i < stack.size(); ++i) {
      if (stack[i].isTensor()) {
        visit(stack[i].toTensor());
      } else if (stack[i].isTensorList()) {
        for (const at::Tensor& tensor : stack[i].toTensorList()) {
          visit(tensor);
        }
      } else if (stack[i].isOptionalTensorList()) {
        for (const std::optional<at::Tensor>& tensor : stack[i].toOptionalTensorList()) {
          visit(tensor.value_or(at::Tensor()));
        }
      }
    }
  };
  each([&](const at::Tensor& tensor) {
    key = mixed(key, tensor.defined() ? 1 + static_cast<uint64_t>(tensor.scalar_type()) : 0);
    if (tensor.defined()) {
      for (auto size : tensor.sizes()) {
        key = mixed(key, static_cast<uint64_t>(size));
      }
    }
  });
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.shapes.insert(key).second) {
      return;
    }
  }
  py::gil_scoped_acquire gil;
  py::list tensors;
  each([&](const at::Tensor& tensor) {
    if (tensor.defined()) {
      tensors.append(py::make_tuple(c10::toString(tensor.scalar_type()), py::tuple(py::cast(tensor.sizes().vec()))));
    }
  });
  (*s.on_new_shape)(c10::toString(op.operator_name()), tensors, std::this_thread::get_id() == s.main_thread);
}

// Tensors of the CPU are arguments only where a device would take them too: numbers.
void check_device(const c10::OperatorHandle& op, const at::Tensor& tensor) {
  if (C10_LIKELY(!tensor.defined() || (tensor.device().is_cpu() && tensor.dim() == 0))) {
    return;
  }
  auto message = c10::str(
      "Expected all tensors to be on the same device, but found at least two devices, ", device(), " and ",
      tensor.device(), "! (simulated Neuron, operator ", op.operator_name(), ", a tensor of size ", tensor.sizes(),
      " on ", tensor.device(), ")");
  TORCH_CHECK(tolerated("devices", message), message);
}

bool is_on_device(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
      value.toTensor().device().type() == DeviceType::PrivateUse1;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (C10_UNLIKELY(state().records_operators)) {
    record_operator(op);
  }
  if (C10_UNLIKELY(state().reports_shapes)) {
    report_shapes(op, *stack);
  }
  const auto& arguments = op.schema().arguments();
  const auto first = stack->size() - arguments.size();
  Translation translation;
  struct Written {
    at::Tensor tensor;
    at::Tensor alias;
  };
  c10::SmallVector<Written, 4> written;
  bool any_on_device = false;
  c10::SmallVector<at::Tensor, 8> not_on_device;

  auto translate = [&](const at::Tensor& tensor, bool is_written) {
    if (!tensor.defined()) {
      return tensor;
    }
    if (tensor.device().type() != DeviceType::PrivateUse1) {
      not_on_device.push_back(tensor);
      if (is_written) {
        written.push_back({tensor, tensor});
      }
      return tensor;
    }
    any_on_device = true;
    auto alias = translation.to_cpu(tensor);
    if (is_written) {
      written.push_back({tensor, alias});
    }
    return alias;
  };

  int generator = -1;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto& value = (*stack)[first + i];
    if (value.isTensor()) {
      value = translate(value.toTensor(), is_written(arguments[i]));
    } else if (value.isTensorList()) {
      auto list = value.toTensorList();
      c10::List<at::Tensor> aliases;
      aliases.reserve(list.size());
      for (const at::Tensor& tensor : list) {
        aliases.push_back(translate(tensor, is_written(arguments[i])));
      }
      value = std::move(aliases);
    } else if (value.isOptionalTensorList()) {
      // The indices of tensor[indices]: a device takes them from the CPU as well.
      auto list = value.toOptionalTensorList();
      c10::List<std::optional<at::Tensor>> aliases;
      aliases.reserve(list.size());
      for (size_t k = 0; k < list.size(); ++k) {
        std::optional<at::Tensor> tensor = list.get(k);
        aliases.push_back(tensor ? std::optional<at::Tensor>(translation.to_cpu(*tensor)) : std::nullopt);
      }
      value = std::move(aliases);
    } else if (value.isStorage()) {
      value = translation.to_cpu(value.toStorage());
    } else if (value.isDevice()) {
      if (value.toDevice().type() == DeviceType::PrivateUse1) {
        check_index(value.toDevice());
        value = c10::Device(DeviceType::CPU);
      }
    } else if (value.isGenerator()) {
      value = cpu_generator(value.toGenerator());
      generator = static_cast<int>(i);
    } else if (value.isNone() && arguments[i].name() == "generator") {
      value = cpu_generator(default_generator());
      generator = static_cast<int>(i);
    }
  }
  if (any_on_device) {
    for (const auto& tensor : not_on_device) {
      check_device(op, tensor);
    }
  }

  {
    at::AutoDispatchBelowADInplaceOrView below;
    if (C10_UNLIKELY(generator < 0 && op.hasTag(at::Tag::nondeterministic_seeded))) {
      DrawFromDevice draw;
      op.callBoxed(stack);
    } else {
      op.callBoxed(stack);
    }
  }

  for (const auto& [tensor, alias] : written) {
    translation.update(tensor, alias);
  }
  auto back = [&](const at::Tensor& tensor) {
    for (const auto& pair : written) {
      if (pair.alias.is_same(tensor)) {
        return pair.tensor;
      }
    }
    return translation.to_device(tensor);
  };
  const auto results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    if (value.isTensor()) {
      value = back(value.toTensor());
    } else if (value.isTensorList()) {
      auto list = value.toTensorList();
      c10::List<at::Tensor> tensors;
      tensors.reserve(list.size());
      for (const at::Tensor& tensor : list) {
        tensors.push_back(back(tensor));
      }
      value = std::move(tensors);
    }
  }
}

at::Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> asked,
    std::optional<bool> pin_memory,
    std::optional<at::MemoryFormat> memory_format) {
  check_index(asked.value_or(device()));
  check_dtype(dtype.value_or(at::get_default_dtype_as_scalartype()));
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  return Translation().to_device(at::detail::empty_cpu(
      size, dtype.value_or(at::get_default_dtype_as_scalartype()), /*pin_memory=*/false, memory_format));
}

at::Tensor empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> asked,
    std::optional<bool> pin_memory) {
  check_index(asked.value_or(device()));
  check_dtype(dtype.value_or(at::get_default_dtype_as_scalartype()));
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  return Translation().to_device(at::detail::empty_strided_cpu(
      size, stride, dtype.value_or(at::get_default_dtype_as_scalartype()), /*pin_memory=*/false));
}

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool) {
  Translation translation;
  auto alias = translation.to_cpu(target);
  alias.copy_(translation.to_cpu(source));
  return target;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
  Translation translation;
  auto alias = translation.to_cpu(target);
  auto values = translation.to_cpu(source);
  alias.resize_(values.sizes());
  alias.copy_(values);
  translation.update(target, alias);
  return target;
}

void record_stream(at::Tensor&, c10::Stream) {}

at::Tensor convolution(
    const at::Tensor& input,
    const at::Tensor& weight,
    const std::optional<at::Tensor>& bias,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef output_padding,
    int64_t groups) {
  Translation translation;
  return translation.to_device(at::convolution(
      translation.to_cpu(input), translation.to_cpu(weight), translation.to_cpu(bias.value_or(at::Tensor())), stride,
      padding, dilation, transposed, output_padding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& gradient,
    const at::Tensor& input,
    const at::Tensor& weight,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> needed) {
  Translation translation;
  int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  auto [for_input, for_weight, for_bias] = at::convolution_backward(
      translation.to_cpu(gradient), translation.to_cpu(input), translation.to_cpu(weight), at::IntArrayRef{channels},
      stride, padding, dilation, transposed, output_padding, groups, needed);
  return {translation.to_device(for_input), translation.to_device(for_weight), translation.to_device(for_bias)};
}

} // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("record_stream", &record_stream);
  // Has a kernel of the CPU, but a composite one as well, which would be preferred to the fallback.
  m.impl("native_layer_norm", torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
}

// Copying resolves the conjugation itself; resolving it first would copy, without end.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

// torch.autocast("neuron"): the lists of operators that CUDA has. Those of TorchNeuron are not known.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  using namespace at::autocast;
  using at::IntArrayRef;
  using at::Scalar;
  using at::ScalarType;
  using at::Tensor;
#define LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FULL(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FULL_UNLESS_GIVEN(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(LOWER)
  AT_FORALL_FP32(FULL)
  AT_FORALL_FP32_SET_OPT_DTYPE(FULL_UNLESS_GIVEN)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(WIDEST)
#undef LOWER
#undef FULL
#undef FULL_UNLESS_GIVEN
#undef WIDEST
}

void bind_device(py::module_& m) {
  m.def("start", [](int index, int count, py::object on_first_use, py::object on_refusal) {
    auto& s = state();
    s.index = static_cast<c10::DeviceIndex>(index);
    s.count = static_cast<c10::DeviceIndex>(count);
    s.main_thread = std::this_thread::get_id();
    s.on_first_use = new py::object(std::move(on_first_use));
    s.on_refusal = new py::object(std::move(on_refusal));
    c10::SetAllocator(DeviceType::PrivateUse1, &device_allocator);
    at::RegisterPrivateUse1HooksInterface(new Hooks);
  });
  m.def("index", [] { return int(state().index); });
  m.def("count", [] { return int(state().count); });
  m.def("use_device", &use_device);
  m.def("is_initialized", [] { return state().initialized.load(); });
  m.def("after_fork_in_child", [] {
    state().main_thread = std::this_thread::get_id();
    state().forked = state().initialized.load();
  });
  m.def("is_forked", [] { return state().forked.load(); });
  m.def("default_generator", [] { return default_generator(); });
  m.def("allocated", [] { return state().allocated.load(); });
  m.def("peak", [] { return state().peak.load(); });
  m.def("reset_peak", [] { state().peak = state().allocated.load(); });
  m.def("record_operators", [](bool on) { state().records_operators = on; });
  m.def("report_shapes", [](py::object on_new_shape) {
    auto& s = state();
    s.on_new_shape = new py::object(std::move(on_new_shape));
    s.reports_shapes = true;
  });
  m.def("pause_shapes", [](bool paused) {
    // What runs inside a compiled graph is no kernel of its own.
    auto before = !state().reports_shapes;
    state().reports_shapes = state().on_new_shape && !paused;
    return before;
  });
  m.def("operators", [] {
    std::lock_guard<std::mutex> lock(state().mutex);
    return state().operators;
  });
  m.def("clear_operators", [] {
    std::lock_guard<std::mutex> lock(state().mutex);
    state().operators.clear();
  });
}

} // namespace neuron_simulated

namespace neuron_simulated {

void bind_process_group(py::module_& m); // process_group.cpp

} // namespace neuron_simulated

PYBIND11_MODULE(_native, m) {
  neuron_simulated::bind_device(m);
  neuron_simulated::bind_process_group(m);
}
