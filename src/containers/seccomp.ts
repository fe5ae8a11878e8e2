/** System calls that are refused, and their numbers on x86-64 and arm64; null: it does not exist there. */
const refusedCalls: Record<string, [x64: number | null, arm64: number | null]> = {
  ptrace: [101, 117],
  syslog: [103, 116],
  vhangup: [153, 58],
  pivot_root: [155, 41],
  sysctl: [156, null],
  adjtimex: [159, 171],
  chroot: [161, 51],
  acct: [163, 89],
  settimeofday: [164, 170],
  mount: [165, 40],
  umount2: [166, 39],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  iopl: [172, null],
  ioperm: [173, null],
  create_module: [174, null],
  init_module: [175, 105],
  delete_module: [176, 106],
  quotactl: [179, 60],
  nfsservctl: [180, 42],
  lookup_dcookie: [212, 18],
  clock_settime: [227, 112],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  kexec_load: [246, 104],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  migrate_pages: [256, 238],
  unshare: [272, 97],
  move_pages: [279, 239],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  clock_adjtime: [305, 266],
  setns: [308, 268],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  finit_module: [313, 273],
  kexec_file_load: [320, 294],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  pidfd_getfd: [438, 438],
  mount_setattr: [442, 442],
  quotactl_fd: [443, 443],
}

interface Architecture {
  /** Value of `seccomp_data.arch` in the kernel. */
  audit: number
  refused: number[]
  clone: number
  socket: number
  /** x86-64 only: the first number of a second set of all system calls. */
  alternateCalls: number | null
}

const architectures: Record<string, Architecture> = {
  x64: { audit: 0xc000003e, refused: numbersAt(0), clone: 56, socket: 41, alternateCalls: 0x40000000 },
  arm64: { audit: 0xc00000b7, refused: numbersAt(1), clone: 220, socket: 198, alternateCalls: null },
}

function numbersAt(index: 0 | 1): number[] {
  return Object.values(refusedCalls).flatMap((numbers) => numbers[index] ?? [])
}

const clone3 = 435
/** Flags of `clone` that create a namespace. */
const namespaceFlags = 0x7e020000
/** Unix and IP sockets. Others, such as vsock, are not confined to the network namespace. */
const allowedFamilies = [1, 2, 10]

const errors = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 }
const allow = 0x7fff0000
const killProcess = 0x80000000

type Instruction = [code: number, jumpIfTrue: number, jumpIfFalse: number, value: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const loadNumber = load(0)
const loadFirstArgument = load(16)
const returnAction = (result: number): Instruction => [0x06, 0, 0, result]
const fail = (error: keyof typeof errors): Instruction => returnAction(0x00050000 | errors[error])

/** Runs `then` if the comparison holds, and continues after it otherwise. */
function when(code: number, value: number, then: Instruction[]): Instruction[] {
  return [[code, 0, then.length, value], ...then]
}
const equals = 0x15
const isAtLeast = 0x35
const hasBits = 0x45

/** Null for an architecture whose numbers are not known here. */
export function buildSeccompFilter(architecture: string = process.arch): Buffer | null {
  const target = architectures[architecture]
  if (!target) return null
  return encode([
    load(4),
    [equals, 1, 0, target.audit],
    returnAction(killProcess),
    loadNumber,
    ...(target.alternateCalls === null ? [] : when(isAtLeast, target.alternateCalls, [fail('EPERM')])),
    ...target.refused.flatMap((number) => when(equals, number, [fail('EPERM')])),
    // Its flags are in memory, where a filter cannot read them; the C library then uses clone.
    ...when(equals, clone3, [fail('ENOSYS')]),
    ...when(equals, target.clone, [
      loadFirstArgument,
      ...when(hasBits, namespaceFlags, [fail('EPERM')]),
      returnAction(allow),
    ]),
    ...when(equals, target.socket, [
      loadFirstArgument,
      ...allowedFamilies.flatMap((family) => when(equals, family, [returnAction(allow)])),
      fail('EAFNOSUPPORT'),
    ]),
    returnAction(allow),
  ])
}

/** Encodes instructions as `struct sock_filter`, in the byte order of both architectures. */
function encode(program: Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(([code, jumpIfTrue, jumpIfFalse, value], index) => {
    const at = index * 8
    bytes.writeUInt16LE(code, at)
    bytes.writeUInt8(jumpIfTrue, at + 2)
    bytes.writeUInt8(jumpIfFalse, at + 3)
    bytes.writeUInt32LE(value >>> 0, at + 4)
  })
  return bytes
}
