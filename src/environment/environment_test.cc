// environment: recorded trees give known manifests, and what is absent stays absent.
#include "environment/environment.h"

#include <unistd.h>

namespace headroom::environment {
namespace {

namespace fs = std::filesystem;

/// A tree of files below a temporary folder.
class Recorded {
 public:
  Recorded() {
    std::string name = (fs::temp_directory_path() / "headroom-env-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~Recorded() { fs::remove_all(root_); }
  Recorded& file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
    return *this;
  }
  Manifest describe(std::vector<std::string> variables = {}, std::string nvml = {}) const {
    Manifest found = environment::describe({root_, std::move(variables), std::move(nvml)});
    EXPECT_TRUE(found.contains("headroom.version"));
    std::erase_if(found, [](const auto& entry) { return entry.first.starts_with("headroom."); });
    return found;
  }

 private:
  fs::path root_;
};

TEST(Environment, NothingReadableIsAnEmptyManifest) {
  EXPECT_EQ(Recorded().describe(), Manifest{});
}

TEST(Environment, ProcessorMemoryAndSystem) {
  Recorded tree;
  tree.file("proc/cpuinfo",
            "processor\t: 0\nmodel name\t: AMD EPYC 9654\nmicrocode\t: 0xa101148\n"
            "cpu MHz\t\t: 2400.123\nflags\t\t: fpu avx2 avx512f avx512_bf16 hypervisor\n\n"
            "processor\t: 1\nmodel name\t: AMD EPYC 9654\n");
  for (int cpu = 0; cpu < 12; ++cpu) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", cpu);
    tree.file(folder + "topology/physical_package_id", std::to_string(cpu / 6) + "\n");
    tree.file(folder + "topology/core_id", std::to_string(cpu % 3) + "\n");
    tree.file(folder + "cpufreq/scaling_governor", cpu == 2 ? "powersave\n" : "performance\n");
    tree.file(folder + "cpufreq/scaling_max_freq", "3700000\n");
    tree.file(folder + "cpufreq/scaling_cur_freq", cpu % 2 == 0 ? "3000000\n" : "3500000\n");
  }
  tree.file("sys/devices/system/cpu/cpufreq/boost", "1\n")
      .file("sys/devices/system/cpu/smt/active", "1\n")
      .file("sys/devices/system/node/online", "0-1\n")
      .file("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,8\n")
      .file("proc/meminfo",
            "MemTotal:       1048576 kB\nMemAvailable:    524288 kB\nSwapTotal:  0 kB\n"
            "HugePages_Total:     8\nHugepagesize:     2048 kB\n")
      .file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
      .file("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
      .file("proc/cmdline", "root=/dev/sda1 mitigations=off isolcpus=2-3 quiet\n")
      .file("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n")
      .file("sys/class/dmi/id/sys_vendor", "QEMU\n")
      .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
      .file("proc/loadavg", "0.25 0.10 0.05 1/100 1234\n");
  std::string module(0x28, '\x01');  // 0x0101 MB at 4800 MT/s
  module[0x20] = '\xc0';
  module[0x21] = '\x12';
  std::string empty_slot(0x28, '\x01');
  empty_slot[0x0c] = empty_slot[0x0d] = '\0';
  tree.file("sys/firmware/dmi/entries/17-0/raw", module)
      .file("sys/firmware/dmi/entries/17-1/raw", module)
      .file("sys/firmware/dmi/entries/17-2/raw", empty_slot)
      .file("sys/firmware/dmi/entries/16-0/raw", module);
  const Manifest found = tree.describe();
  const Manifest expected = {
      {"cpu.model", "AMD EPYC 9654"},
      {"cpu.microcode", "0xa101148"},
      {"cpu.isa", "avx2 avx512f avx512_bf16"},
      {"cpu.sockets", "2"},
      {"cpu.cores", "6"},
      {"cpu.threads", "12"},
      {"cpu.governor", "performance; powersave"},
      {"cpu.clock_max_mhz", "3700"},
      {"cpu.clock_now_mhz", "3250"},
      {"cpu.turbo", "on"},
      {"cpu.smt", "on"},
      {"cpu.usable", "5"},
      {"numa.nodes", "2"},
      {"memory.total_mib", "1024"},
      {"memory.available_now_mib", "512"},
      {"memory.swap_mib", "0"},
      {"memory.huge_pages", "8"},
      {"memory.huge_page_size", "2048 kB"},
      {"memory.transparent_huge_pages", "madvise"},
      {"memory.modules", "2"},
      {"memory.speed_mt_s", "4800"},
      {"kernel.release", "6.1.0-18-amd64"},
      {"kernel.parameters", "mitigations=off isolcpus=2-3"},
      {"os.release", "Debian GNU/Linux 12"},
      {"system.product", "QEMU"},
      {"system.virtual", "yes"},
      {"clock.source", "tsc"},
      {"load.now", "0.25"},
  };
  EXPECT_EQ(found, expected);
}

TEST(Environment, ControlGroupsOfVersionTwoTheLowestOnTheWayUpCounts) {
  Recorded tree;
  tree.file("sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
      .file("proc/self/cgroup", "0::/a/b\n")
      .file("sys/fs/cgroup/a/cpu.max", "150000 100000\n")
      .file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
      .file("sys/fs/cgroup/a/b/memory.max", "1073741824\n")
      .file("sys/fs/cgroup/a/memory.max", "max\n");
  const Manifest expected = {
      {"cgroup.version", "2"}, {"cgroup.cpus", "1.5"}, {"cgroup.memory_mib", "1024"}};
  EXPECT_EQ(tree.describe(), expected);
}

TEST(Environment, ControlGroupsOfVersionOne) {
  Recorded tree;
  tree.file("proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/x/\n")
      .file("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
  const Manifest expected = {{"cgroup.version", "1"}, {"cgroup.cpus", "0.5"}};
  EXPECT_EQ(tree.describe(), expected);
}

TEST(Environment, ContainersTellRuntimeAndImage) {
  Recorded podman;
  podman.file("run/.containerenv", "engine=\"podman-4.3\"\nimage=\"docker.io/x/y:1.2\"\n");
  const Manifest expected = {{"container.runtime", "podman"},
                             {"container.image", "docker.io/x/y:1.2"}};
  EXPECT_EQ(podman.describe(), expected);
  Recorded docker;
  docker.file(".dockerenv", "");
  const Manifest in_a_pod = {{"container.runtime", "docker, kubernetes"}};
  EXPECT_EQ(docker.describe({"KUBERNETES_SERVICE_HOST=10.0.0.1"}), in_a_pod);
}

TEST(Environment, VariablesThatMatterWithoutSecrets) {
  const Manifest found = Recorded().describe(
      {"NCCL_DEBUG=INFO", "VLLM_API_KEY=geheim", "HF_TOKEN=geheim", "HOME=/root",
       "VLLM_ATTENTION_BACKEND=A=B", "CUDA_VISIBLE_DEVICES=", "HEADROOM_URL=http://me:pw@host/",
       "SGLANG_HOST_IP_PASSWORD=geheim", "omp_num_threads=3", "UCX_TLS",
       "SGLANG_NUM_MAX_DISPATCH_TOKENS_PER_RANK=128", "HEADROOM_GIT_TOKEN=geheim",
       "HEADROOM_DB=postgresql://host/db?user=me&sslpassword=geheim"});
  const Manifest expected = {{"env.NCCL_DEBUG", "INFO"},
                             {"env.VLLM_ATTENTION_BACKEND", "A=B"},
                             {"env.CUDA_VISIBLE_DEVICES", ""},
                             {"env.SGLANG_NUM_MAX_DISPATCH_TOKENS_PER_RANK", "128"},
                             {"env.omp_num_threads", "3"}};
  EXPECT_EQ(found, expected);
}

TEST(Environment, NetworkInterfacesThatAreUp) {
  Recorded tree;
  tree.file("sys/class/net/eth0/operstate", "up\n")
      .file("sys/class/net/eth0/speed", "100000\n")
      .file("sys/class/net/eth0/mtu", "9000\n")
      .file("sys/class/net/eth1/operstate", "down\n")
      .file("sys/class/net/lo/operstate", "unknown\n")
      .file("sys/class/net/veth12/operstate", "up\n")
      .file("sys/class/net/veth12/speed", "-1\n")
      .file("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n")
      .file("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  const Manifest expected = {{"net.eth0", "up 100000 Mb/s mtu 9000"},
                             {"rdma.mlx5_0", "400 Gb/sec (4X NDR) active"}};
  EXPECT_EQ(tree.describe(), expected);
}

TEST(Environment, AmdDevicesFromTheDriversFiles) {
  Recorded tree;
  for (const char* card : {"card1", "card2"}) {
    const std::string device = fmt::format("sys/class/drm/{}/device/", card);
    tree.file(device + "vendor", "0x1002\n")
        .file(device + "mem_info_vram_total", "309220868096\n")
        .file(device + "product_name", "AMD Instinct MI355X\n")
        .file(device + "pp_dpm_sclk", "0: 132Mhz *\n1: 2400Mhz\n")
        .file(device + "current_compute_partition", "SPX\n")
        .file(device + "hwmon/hwmon3/power1_cap", "1400000000\n");
  }
  tree.file("sys/class/drm/card1-DP-1/status", "connected\n")
      .file("sys/class/drm/card0/device/vendor", "0x1a03\n")  // the board's own display
      .file("sys/module/amdgpu/version", "6.12.12\n")
      .file("opt/rocm/.info/version", "7.0.1-42\n")
      .file("sys/class/kfd/kfd/topology/nodes/0/properties", "gfx_target_version 0\n")
      .file("sys/class/kfd/kfd/topology/nodes/1/properties",
            "simd_count 1024\ngfx_target_version 90500\n")
      .file("sys/class/kfd/kfd/topology/nodes/2/properties", "gfx_target_version 90500\n");
  const Manifest expected = {{"gpu.count", "2"},
                             {"gpu.name", "AMD Instinct MI355X"},
                             {"gpu.architecture", "gfx950"},
                             {"gpu.memory_mib", "294896"},
                             {"gpu.clock_sm_max_mhz", "2400"},
                             {"gpu.clock_sm_now_mhz", "132"},
                             {"gpu.compute_partition", "SPX"},
                             {"gpu.power_limit_w", "1400"},
                             {"gpu.driver", "6.12.12"},
                             {"rocm.version", "7.0.1-42"}};
  EXPECT_EQ(tree.describe(), expected);
}

TEST(Environment, NvidiaDevicesFromTheLoadedLibrary) {
  const Manifest expected = {{"gpu.count", "2"},
                             {"gpu.name", "NVIDIA H200"},
                             {"gpu.driver", "570.86.15"},
                             {"cuda.version", "12.8"},
                             {"gpu.memory_mib", "143771"},
                             {"gpu.clock_sm_max_mhz", "1980"},
                             {"gpu.clock_memory_max_mhz", "3201"},
                             {"gpu.clock_sm_now_mhz", "345"},
                             {"gpu.clock_memory_now_mhz", "3201"},
                             {"gpu.power_limit_w", "700; 500"},
                             {"gpu.ecc", "on"}};
  EXPECT_EQ(Recorded().describe({}, FAKE_NVML), expected);
  EXPECT_EQ(Recorded().describe({}, "/no/such/library.so"), Manifest{});
}

TEST(Environment, FilesOfNoiseDoNoHarm) {
  std::mt19937 random(7);
  Recorded tree;
  for (int round = 0; round < 50; ++round) {
    for (const char* path :
         {"proc/cpuinfo", "proc/meminfo", "proc/self/cgroup", "proc/cmdline", "proc/loadavg",
          "run/.containerenv", "etc/os-release", "sys/fs/cgroup/cgroup.controllers",
          "sys/fs/cgroup/cpu.max", "sys/devices/system/cpu/cpu0/topology/core_id",
          "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
          "sys/firmware/dmi/entries/17-0/raw", "sys/class/drm/card0/device/pp_dpm_sclk",
          "sys/class/kfd/kfd/topology/nodes/1/properties", "sys/class/net/eth0/speed"}) {
      std::string noise;
      for (auto left = random() % 60; left > 0; --left)
        noise += ":=/ ,-[]*\n09afk\xff\0"[random() % 17];
      tree.file(path, noise);
    }
    tree.describe();
  }
}

TEST(Environment, ThisMachine) {
  const Manifest found = describe();
  EXPECT_TRUE(found.contains("cpu.model") || found.contains("cpu.isa"));
  EXPECT_TRUE(found.contains("kernel.release"));
  ASSERT_TRUE(found.contains("memory.total_mib"));
  EXPECT_GT(std::stoll(found.at("memory.total_mib")), 0);
  for (const auto& [name, value] : found) {
    EXPECT_FALSE(name.empty());
    if (!name.starts_with("env.")) EXPECT_FALSE(value.empty()) << name;
  }
}

}  // namespace
}  // namespace headroom::environment
