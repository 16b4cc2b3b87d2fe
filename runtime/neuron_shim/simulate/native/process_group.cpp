// The process group "neuron": gloo, over the bytes of the tensors of the simulated device.
//
// A collective is done when it returns. So an output is written exactly once: gloo copies some outputs when its work is
// waited for, and a second wait would copy again, over whatever had been computed since.

#include "device.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/utils/pybind.h>

namespace neuron_simulated {
namespace {

using at::Tensor;
using c10::intrusive_ptr;
using c10d::Work;
using Tensors = std::vector<Tensor>;

class Done final : public Work {
 public:
  Done(int rank, c10d::OpType operation, Tensors outputs)
      : Work(rank, operation),
        outputs_(std::move(outputs)),
        future_(c10::make_intrusive<c10::ivalue::Future>(
            c10::ListType::create(c10::TensorType::get()), std::vector<c10::Device>{device()})) {
    future_->markCompleted(c10::IValue(outputs_));
    finish();
  }
  bool isCompleted() override {
    return true;
  }
  bool isSuccess() const override {
    return true;
  }
  bool wait(std::chrono::milliseconds) override {
    return true;
  }
  void synchronize() override {}
  Tensors result() override {
    return outputs_;
  }
  intrusive_ptr<c10::ivalue::Future> getFuture() override {
    return future_;
  }

 private:
  Tensors outputs_;
  intrusive_ptr<c10::ivalue::Future> future_;
};

void lacking(const std::string& operation) {
  auto message = c10::str(
      "Simulated Neuron: the process group of TorchNeuron has no ", operation,
      " (as far as its sources of April 2026 tell).");
  TORCH_CHECK_NOT_IMPLEMENTED(tolerated("collective", message), message);
}

class Group final : public c10d::Backend {
 public:
  Group(intrusive_ptr<c10d::Backend> gloo, bool is_default)
      : Backend(gloo->getRank(), gloo->getSize()), gloo_(std::move(gloo)), is_default_(is_default) {}

  const std::string getBackendName() const override {
    return "neuron";
  }
  intrusive_ptr<Options> getBackendOptions() override {
    return c10::make_intrusive<Options>("neuron");
  }
  void setTimeout(std::chrono::milliseconds timeout) override {
    gloo_->setTimeout(timeout);
  }
  void setSequenceNumberForGroup() override {
    gloo_->setSequenceNumberForGroup();
  }
  uint64_t getSequenceNumberForGroup() override {
    return gloo_->getSequenceNumberForGroup();
  }
  bool supportsCoalescing() const override {
    return true;
  }
  void startCoalescing() override {}
  intrusive_ptr<Work> endCoalescing() override {
    return done(c10d::OpType::COALESCED, {});
  }

  intrusive_ptr<Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    auto aliases = to_cpu(tensors);
    return finish(gloo_->broadcast(aliases, options), c10d::OpType::BROADCAST, tensors);
  }
  intrusive_ptr<Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    auto aliases = to_cpu(tensors);
    return finish(gloo_->allreduce(aliases, options), c10d::OpType::ALLREDUCE, tensors);
  }
  intrusive_ptr<Work> allreduce_coalesced(
      Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    for (auto& tensor : tensors) {
      Tensors one{tensor};
      allreduce(one, options);
    }
    return done(c10d::OpType::ALLREDUCE_COALESCED, tensors);
  }
  intrusive_ptr<Work> reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    auto aliases = to_cpu(tensors);
    return finish(gloo_->reduce(aliases, options), c10d::OpType::REDUCE, tensors);
  }
  intrusive_ptr<Work> allgather(
      std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    auto targets = to_cpu(outputs);
    auto sources = to_cpu(inputs);
    return finish(gloo_->allgather(targets, sources, options), c10d::OpType::ALLGATHER, flat(outputs));
  }
  intrusive_ptr<Work> _allgather_base(
      Tensor& output, Tensor& input, const c10d::AllgatherOptions& options) override {
    auto target = flat(output);
    auto source = flat(input);
    return finish(gloo_->_allgather_base(target, source, options), c10d::OpType::_ALLGATHER_BASE, {output});
  }
  intrusive_ptr<Work> allgather_coalesced(
      std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    auto targets = to_cpu(outputs);
    auto sources = to_cpu(inputs);
    return finish(
        gloo_->allgather_coalesced(targets, sources, options), c10d::OpType::ALLGATHER_COALESCED, flat(outputs));
  }
  intrusive_ptr<Work> allgather_into_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    for (size_t i = 0; i < outputs.size(); ++i) {
      _allgather_base(outputs[i], inputs[i], options);
    }
    return done(c10d::OpType::ALLGATHER_COALESCED, outputs);
  }
  intrusive_ptr<Work> gather(
      std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    auto targets = to_cpu(outputs);
    auto sources = to_cpu(inputs);
    return finish(gloo_->gather(targets, sources, options), c10d::OpType::GATHER, flat(outputs));
  }
  intrusive_ptr<Work> scatter(
      Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override {
    auto targets = to_cpu(outputs);
    auto sources = to_cpu(inputs);
    return finish(gloo_->scatter(targets, sources, options), c10d::OpType::SCATTER, outputs);
  }
  intrusive_ptr<Work> reduce_scatter(
      Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) override {
    auto targets = to_cpu(outputs);
    auto sources = to_cpu(inputs);
    return finish(gloo_->reduce_scatter(targets, sources, options), c10d::OpType::REDUCE_SCATTER, outputs);
  }
  intrusive_ptr<Work> _reduce_scatter_base(
      Tensor& output, Tensor& input, const c10d::ReduceScatterOptions& options) override {
    auto target = flat(output);
    auto source = flat(input);
    return finish(
        gloo_->_reduce_scatter_base(target, source, options), c10d::OpType::_REDUCE_SCATTER_BASE, {output});
  }
  intrusive_ptr<Work> reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) override {
    for (size_t i = 0; i < outputs.size(); ++i) {
      _reduce_scatter_base(outputs[i], inputs[i], options);
    }
    return done(c10d::OpType::REDUCE_SCATTER, outputs);
  }
  intrusive_ptr<Work> alltoall_base(
      Tensor& output,
      Tensor& input,
      std::vector<int64_t>& output_splits,
      std::vector<int64_t>& input_splits,
      const c10d::AllToAllOptions& options) override {
    std::vector<int64_t> evenly;
    if (even(output_splits) && even(input_splits)) {
      auto target = flat(output);
      auto source = flat(input);
      return finish(
          gloo_->alltoall_base(target, source, evenly, evenly, options), c10d::OpType::ALLTOALL_BASE, {output});
    }
    lacking("all_to_all with parts of different sizes");
    auto target = to_cpu(output);
    auto source = to_cpu(input);
    return finish(
        gloo_->alltoall_base(target, source, output_splits, input_splits, options), c10d::OpType::ALLTOALL_BASE,
        {output});
  }
  intrusive_ptr<Work> alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    auto output_sizes = sizes(outputs);
    auto input_sizes = sizes(inputs);
    auto all = output_sizes;
    all.insert(all.end(), input_sizes.begin(), input_sizes.end());
    if (!even(all)) {
      lacking("all_to_all with parts of different sizes");
    }
    auto targets = to_cpu(outputs);
    Tensors parts;
    for (const auto& source : to_cpu(inputs)) {
      parts.push_back(source.reshape({-1}));
    }
    auto sent = at::cat(parts);
    int64_t count = 0;
    for (auto size : output_sizes) {
      count += size;
    }
    auto received = at::empty({count}, sent.options());
    gloo_->alltoall_base(received, sent, output_sizes, input_sizes, options)->wait();
    int64_t start = 0;
    for (auto& target : targets) {
      target.copy_(received.narrow(0, start, target.numel()).view(target.sizes()));
      start += target.numel();
    }
    return done(c10d::OpType::ALLTOALL, outputs);
  }
  intrusive_ptr<Work> barrier(const c10d::BarrierOptions& options) override {
    if (!is_default_) {
      lacking("barrier for a part of the processes");
    }
    return finish(gloo_->barrier(options), c10d::OpType::BARRIER, {});
  }

  intrusive_ptr<Work> send(Tensors& tensors, int rank, int tag) override {
    lacking("send");
    auto aliases = to_cpu(tensors);
    return finish(gloo_->send(aliases, rank, tag), c10d::OpType::SEND, tensors);
  }
  intrusive_ptr<Work> recv(Tensors& tensors, int rank, int tag) override {
    lacking("recv");
    auto aliases = to_cpu(tensors);
    return finish(gloo_->recv(aliases, rank, tag), c10d::OpType::RECV, tensors);
  }
  intrusive_ptr<Work> recvAnysource(Tensors& tensors, int tag) override {
    lacking("recv from any process");
    auto aliases = to_cpu(tensors);
    return finish(gloo_->recvAnysource(aliases, tag), c10d::OpType::RECVANYSOURCE, tensors);
  }
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all) override {
    lacking("monitored_barrier");
    gloo_->monitoredBarrier(options, wait_all);
  }

 private:
  static bool even(const std::vector<int64_t>& splits) {
    return std::all_of(splits.begin(), splits.end(), [&](int64_t split) { return split == splits.front(); });
  }
  static std::vector<int64_t> sizes(const Tensors& tensors) {
    std::vector<int64_t> numbers;
    for (const auto& tensor : tensors) {
      numbers.push_back(tensor.numel());
    }
    return numbers;
  }
  static Tensor to_cpu(const Tensor& tensor) {
    return Translation().to_cpu(tensor);
  }
  // Gloo wants the parts of a tensor to have the shape of the other one; devices only count their elements.
  static Tensor flat(const Tensor& tensor) {
    TORCH_CHECK(tensor.is_contiguous(), "Tensors must be contiguous");
    return to_cpu(tensor).view({-1});
  }
  static Tensors to_cpu(const Tensors& tensors) {
    Tensors aliases;
    for (const auto& tensor : tensors) {
      aliases.push_back(to_cpu(tensor));
    }
    return aliases;
  }
  static std::vector<Tensors> to_cpu(const std::vector<Tensors>& lists) {
    std::vector<Tensors> aliases;
    for (const auto& list : lists) {
      aliases.push_back(to_cpu(list));
    }
    return aliases;
  }
  static Tensors flat(const std::vector<Tensors>& lists) {
    Tensors all;
    for (const auto& list : lists) {
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }
  intrusive_ptr<Work> done(c10d::OpType operation, Tensors outputs) {
    return c10::make_intrusive<Done>(getRank(), operation, std::move(outputs));
  }
  intrusive_ptr<Work> finish(const intrusive_ptr<Work>& work, c10d::OpType operation, Tensors outputs) {
    work->wait();
    return done(operation, std::move(outputs));
  }

  intrusive_ptr<c10d::Backend> gloo_;
  bool is_default_;
};

} // namespace

void bind_process_group(py::module_& m) {
  // The Python class of gloo holds its object in a pointer of another type, hence the plain reference.
  m.def("process_group", [](c10d::Backend& gloo, bool is_default) -> intrusive_ptr<c10d::Backend> {
    return c10::make_intrusive<Group>(intrusive_ptr<c10d::Backend>::reclaim_copy(&gloo), is_default);
  });
}

} // namespace neuron_simulated
