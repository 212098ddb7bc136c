/* Makes a process see a CPU without AVX-512 and AMX: CPUID traps, and its answer lacks them.

       cc -shared -fPIC -o hide.so hide_avx512.c && LD_PRELOAD=./hide.so python …

   A limit of one library, such as ONEDNN_MAX_CPU_ISA, does not reach what others ask of CPUID.
   Needs Linux on x86-64 and CPUID faulting; without it the process ends with status 99. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_CPUID 0x1012 /* arch_prctl: 0 makes CPUID trap in this thread and those it starts */
#define BIT(n) (1u << (n))

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static struct sigaction theirs; /* what the program itself asked for on SIGSEGV */

/* Leaf 7: AVX-512 in all its parts, AVX512-VP2INTERSECT and FP16, AMX. */
static const unsigned ebx = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31);
static const unsigned ecx = BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14);
static const unsigned edx = BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25);

static void on_fault(int signal, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)r[REG_RIP];
    if (info->si_code != SI_KERNEL || code[0] != 0x0f || code[1] != 0xa2) {
        real_sigaction(signal, &theirs, 0); /* a true fault: it repeats, and is theirs */
        return;
    }
    unsigned leaf = r[REG_RAX], sub = r[REG_RCX], a, b, c, d;
    syscall(SYS_arch_prctl, ARCH_CPUID, 1);
    __cpuid_count(leaf, sub, a, b, c, d);
    syscall(SYS_arch_prctl, ARCH_CPUID, 0);
    if (leaf == 7 && sub == 0)
        b &= ~ebx, c &= ~ecx, d &= ~edx;
    else if (leaf == 7 || leaf == 0x1d || leaf == 0x1e || leaf == 0x24) /* BF16, AMX, AVX10 */
        a = b = c = d = 0;
    r[REG_RAX] = a, r[REG_RBX] = b, r[REG_RCX] = c, r[REG_RDX] = d;
    r[REG_RIP] += 2;
}

int sigaction(int signal, const struct sigaction *new, struct sigaction *old) {
    if (signal != SIGSEGV) return real_sigaction(signal, new, old);
    if (old) *old = theirs;
    if (new) theirs = *new;
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    real_sigaction = dlsym(RTLD_NEXT, "sigaction");
    real_sigaction(SIGSEGV, &ours, &theirs);
    if (syscall(SYS_arch_prctl, ARCH_CPUID, 0)) _exit(99);
}
