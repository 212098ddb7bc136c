// Judges a runtime by the tests in `must` of a golden folder: no Python, no protobuf library.
//
//   opcheck golden write --op Sigmoid -o golden
//   g++ -std=c++17 -O2 -o read_golden read_golden.cpp
//   ./read_golden golden
//
// `run` is the runtime under test: here Sigmoid in float32. Call yours there.
// Exit status: 0 all answers are right, 1 some are wrong or a file cannot be read.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace fs = std::filesystem;

struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> data;
};

struct Unsupported : std::runtime_error { using runtime_error::runtime_error; };

// ---- the runtime under test ----

static std::vector<Tensor> run(const fs::path& /* model */, const std::vector<Tensor>& inputs) {
    Tensor y = inputs.at(0);
    for (float& x : y.data) x = 1 / (1 + std::exp(-x));
    return {y};
}

// ---- files ----

static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

// A number of protobuf: seven bits a byte, the lowest first.
static uint64_t varint(const std::string& data, size_t& at) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = uint8_t(data.at(at++));
        value |= uint64_t(byte & 127) << shift;
        if (byte < 128) return value;
    }
    throw std::runtime_error("damaged protobuf");
}

// onnx.proto, message TensorProto. Golden files use these fields alone, and texts another one.
enum TensorField { DIMS = 1, DATA_TYPE = 2, RAW_DATA = 9 };
static const uint64_t FLOAT = 1;

static Tensor read_tensor(const fs::path& path) {
    const std::string file = read(path);
    Tensor tensor;
    uint64_t type = 0;
    std::string raw;
    for (size_t at = 0; at < file.size();) {
        const uint64_t key = varint(file, at);
        const uint64_t value = varint(file, at);  // of a text or of bytes, their number
        const bool is_bytes = (key & 7) == 2;
        if (key >> 3 == DIMS) tensor.shape.push_back(int64_t(value));
        if (key >> 3 == DATA_TYPE) type = value;
        if (!is_bytes) continue;
        if (value > file.size() - at) throw std::runtime_error("damaged " + path.string());
        if (key >> 3 == RAW_DATA) raw = file.substr(at, value);
        at += value;
    }
    if (type != FLOAT) throw Unsupported("data type " + std::to_string(type));
    tensor.data.resize(raw.size() / sizeof(float));  // little-endian, as most processors are
    if (!raw.empty()) std::memcpy(tensor.data.data(), raw.data(), tensor.data.size() * sizeof(float));
    return tensor;
}

static std::vector<Tensor> read_all(const fs::path& data, const std::string& kind) {
    std::vector<Tensor> tensors;
    auto file = [&] { return data / (kind + "_" + std::to_string(tensors.size()) + ".pb"); };
    while (fs::exists(file())) tensors.push_back(read_tensor(file()));
    return tensors;
}

// ---- what is right ----

// With lowest_i.pb and highest_i.pb, an answer is right between them.
static bool between(const Tensor& x, const Tensor& lowest, const Tensor& highest) {
    if (x.shape != lowest.shape || x.data.size() != lowest.data.size()) return false;
    for (size_t i = 0; i < x.data.size(); ++i) {
        const bool is_nan = std::isnan(lowest.data[i]);
        if (is_nan && std::isnan(x.data[i])) continue;
        if (!(lowest.data[i] <= x.data[i] && x.data[i] <= highest.data[i])) return false;
    }
    return true;
}

// Without them, within the tolerance of data.json. An infinity is right if it is the same one.
static bool near(const Tensor& x, const Tensor& want, double rtol, double atol) {
    if (x.shape != want.shape || x.data.size() != want.data.size()) return false;
    for (size_t i = 0; i < x.data.size(); ++i) {
        const double got = x.data[i], right = want.data[i];
        if (got == right || (std::isnan(got) && std::isnan(right))) continue;
        if (!std::isfinite(right)) return false;
        if (!(std::fabs(got - right) <= atol + rtol * std::fabs(right))) return false;
    }
    return true;
}

static bool is_right(const fs::path& test) {
    const fs::path data = test / "test_data_set_0";
    const std::vector<Tensor> outputs = read_all(data, "output");
    const std::vector<Tensor> lowest = read_all(data, "lowest");
    const std::vector<Tensor> highest = read_all(data, "highest");
    double rtol = 0, atol = 0;
    const std::string stated = read(test / "data.json");
    if (std::sscanf(stated.c_str(), "{\"atol\": %lf, \"rtol\": %lf}", &atol, &rtol) != 2)
        throw std::runtime_error("cannot read data.json of " + test.string());
    const std::vector<Tensor> answers = run(test / "model.onnx", read_all(data, "input"));
    if (answers.size() != outputs.size()) return false;
    for (size_t i = 0; i < answers.size(); ++i)
        if (lowest.empty() ? !near(answers[i], outputs[i], rtol, atol)
                           : !between(answers[i], lowest.at(i), highest.at(i)))
            return false;
    return true;
}

int main(int count, char** words) {
    if (count != 2) {
        std::cerr << "usage: read_golden DIR\n";
        return 1;
    }
    int right = 0, wrong = 0, unsupported = 0;
    try {
        for (const fs::directory_entry& test : fs::directory_iterator(fs::path(words[1]) / "must"))
            try {
                if (is_right(test.path())) {
                    ++right;
                    continue;
                }
                ++wrong;
                std::cout << "wrong: " << test.path().filename().string() << "\n";
            } catch (const Unsupported&) {
                ++unsupported;
            }
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    std::cout << right << " right, " << wrong << " wrong, " << unsupported << " unsupported\n";
    return wrong ? 1 : 0;
}
