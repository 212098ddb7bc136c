// A runner without dependencies: Softmax-13 and Hardmax-13 in float32, protobuf read by hand.
//
//   g++ -std=c++17 -O2 -o runner one_shot.cpp
//   opcheck run --op Softmax --op Hardmax -b 'cmd:./runner {model} {inputs} {outputs}'
//
// Exit status 0: computed. 77: not implemented. Anything else: refused, or failed. The reason is
// what stands on standard error. (An exception that nobody catches aborts, which is a crash.)

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

struct Unsupported : std::runtime_error { using runtime_error::runtime_error; };

// A protobuf message is a list of fields; what it means is in onnx.proto.
struct Field { uint64_t number; uint64_t value; std::string bytes; };

static uint64_t varint(const std::string& data, size_t& at) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = data.at(at++);
        value |= uint64_t(byte & 127) << shift;
        if (byte < 128) return value;
    }
    throw std::runtime_error("damaged protobuf");
}

static std::vector<Field> fields(const std::string& data) {
    std::vector<Field> found;
    for (size_t at = 0; at < data.size();) {
        uint64_t key = varint(data, at);
        Field field{key >> 3, 0, ""};
        size_t size = 0;
        switch (key & 7) {
            case 0: field.value = varint(data, at); break;
            case 1: size = 8; break;
            case 2: size = varint(data, at); break;
            case 5: size = 4; break;
            default: throw std::runtime_error("damaged protobuf");
        }
        if (size > data.size() - at) throw std::runtime_error("damaged protobuf");
        field.bytes = data.substr(at, size);
        at += size;
        found.push_back(field);
    }
    return found;
}

static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Node { std::string op; int64_t axis = -1; };

static Node read_model(const std::string& path) {
    Node node;
    std::string strange;
    int nodes = 0;
    uint64_t opset = 0;
    for (const Field& f : fields(read(path))) {
        if (f.number == 8)                                     // ModelProto.opset_import
            for (const Field& g : fields(f.bytes))
                if (g.number == 2) opset = g.value;            // .version
        if (f.number != 7) continue;                           // ModelProto.graph
        for (const Field& g : fields(f.bytes)) {
            if (g.number == 5) throw Unsupported("constants"); // GraphProto.initializer
            if (g.number != 1) continue;                       // GraphProto.node
            ++nodes;
            for (const Field& n : fields(g.bytes)) {
                if (n.number == 4) node.op = n.bytes;          // NodeProto.op_type
                if (n.number != 5) continue;                   // NodeProto.attribute
                std::string name;
                int64_t value = 0;
                uint64_t type = 0;
                for (const Field& a : fields(n.bytes)) {
                    if (a.number == 1) name = a.bytes;         // AttributeProto.name
                    if (a.number == 3) value = int64_t(a.value);  // .i
                    if (a.number == 20) type = a.value;        // .type
                }
                if (name != "axis" || type != 2) strange = name;  // 2: INT
                node.axis = value;
            }
        }
    }
    if (nodes != 1 || (node.op != "Softmax" && node.op != "Hardmax") || opset < 13)
        throw Unsupported(node.op + " at opset " + std::to_string(opset));
    if (!strange.empty()) throw std::runtime_error("attribute " + strange);
    return node;
}

struct Tensor { std::vector<int64_t> shape; std::vector<float> data; };

static Tensor read_tensor(const std::string& path) {
    Tensor tensor;
    std::string raw;
    uint64_t type = 0;
    for (const Field& f : fields(read(path))) {
        if (f.number == 1 && f.bytes.empty()) tensor.shape.push_back(int64_t(f.value));  // dims
        if (f.number == 1)                                     // dims, packed
            for (size_t at = 0; at < f.bytes.size();)
                tensor.shape.push_back(int64_t(varint(f.bytes, at)));
        if (f.number == 2) type = f.value;                     // data_type
        if (f.number == 9) raw = f.bytes;                      // raw_data, little-endian
    }
    if (type != 1) throw Unsupported("data type " + std::to_string(type));
    tensor.data.resize(raw.size() / 4);
    if (!raw.empty()) std::memcpy(tensor.data.data(), raw.data(), raw.size());
    return tensor;
}

static void put_varint(std::string& out, uint64_t value) {
    for (; value > 127; value >>= 7) out += char(value | 128);
    out += char(value);
}

static void write_tensor(const std::string& path, const Tensor& tensor) {
    std::string out;
    for (int64_t size : tensor.shape) { out += char(1 << 3); put_varint(out, uint64_t(size)); }
    out += char(2 << 3); out += char(1);                       // data_type: float
    out += char(9 << 3 | 2); put_varint(out, tensor.data.size() * 4);
    out.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * 4);
    std::ofstream(path, std::ios::binary) << out;
}

static void row(const std::string& op, const float* x, float* y, int64_t size, int64_t step) {
    int64_t first = 0;
    for (int64_t i = 1; i < size; ++i) if (x[i * step] > x[first * step]) first = i;
    if (op == "Hardmax") { y[first * step] = 1; return; }
    float sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += y[i * step] = std::exp(x[i * step] - x[first * step]);
    for (int64_t i = 0; i < size; ++i) y[i * step] /= sum;
}

static void run(const std::string& model, const std::string& inputs, const std::string& outputs) {
    Node node = read_model(model);
    Tensor x = read_tensor(inputs + "/input_0.pb");
    int64_t rank = int64_t(x.shape.size());
    if (node.axis < -rank || node.axis >= rank)
        throw std::runtime_error("axis " + std::to_string(node.axis) + " is out of range");
    int64_t axis = node.axis < 0 ? node.axis + rank : node.axis;
    int64_t size = x.shape[axis], step = 1;
    for (int64_t d = axis + 1; d < rank; ++d) step *= x.shape[d];
    Tensor y{x.shape, std::vector<float>(x.data.size())};
    int64_t total = int64_t(x.data.size());
    for (int64_t begin = 0; begin < total; begin += size * step)
        for (int64_t i = begin; i < begin + step; ++i)
            row(node.op, &x.data[i], &y.data[i], size, step);
    write_tensor(outputs + "/output_0.pb", y);
}

int main(int count, char** words) {
    try {
        if (count != 4) throw std::runtime_error("usage: runner MODEL INPUTS OUTPUTS");
        run(words[1], words[2], words[3]);
        return 0;
    } catch (const Unsupported& error) {
        std::cerr << "not implemented: " << error.what() << "\n";
        return 77;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
