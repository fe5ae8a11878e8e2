import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  bwrapPath,
  findProcesses,
  formatContainerSettings,
  runIn,
  waitUntil,
  withFolder,
} from '../support/containers.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { measureLoopDelay } from '../support/loop-delay.ts'

const mib = 1024 * 1024
const canary = 'canary-7f3a91c2'

describe.skipIf(bwrapPath === null)('a command in the sandbox', () => {
  let server: TestServer
  const run = (command: string, options: Parameters<typeof runIn>[3] = {}) =>
    runIn(server, 'escape', command, options)

  beforeAll(async () => {
    process.env.HEADGATE_TEST_CANARY = canary
    server = await startTestServer('sqlite', {
      settings: formatContainerSettings({
        timeout: 20,
        memory_bytes: 256 * mib,
        processes: 32,
        home_bytes: 8 * mib,
        home_files: 200,
        tmp_bytes: 2 * mib,
        output_bytes: 4096,
      }),
      environment: { HEADGATE_SECRET_KEY: `${canary}-secret-key-of-the-gateway-0123456789` },
    })
  })
  afterAll(async () => {
    delete process.env.HEADGATE_TEST_CANARY
    await server.stop()
  })

  test('runs in its home, which remains for the next command', async () => {
    const first = await run('pwd; echo "hello" > note.txt; echo problem >&2; exit 3')
    expect(first).toMatchObject({ stdout: '/workspace/home\n', stderr: 'problem\n', exitCode: 3 })
    expect(first).toMatchObject({ timedOut: false, stopReason: null, containerId: 'sess_escape' })
    expect((await run('cat note.txt')).stdout).toBe('hello\n')
  })

  test('is an unprivileged user without capabilities, under a system call filter', async () => {
    const { stdout } = await run('id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status')
    expect(stdout.replace(/\s+/g, ' ')).toBe(
      '1000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 ',
    )
  })

  test('R40 sees nothing of the environment of the gateway, in any process', async () => {
    const { stdout } = await run('env; cat /proc/*/environ | tr "\\0" "\\n"; cat /proc/*/cmdline')
    expect(stdout).not.toContain(canary)
    expect(stdout).not.toContain('HEADGATE')
    expect(stdout).toContain('HOME=/workspace/home')
  })

  test('R40 cannot read the data directory, the settings or other files of this machine', async () => {
    const { dataDir } = server.gateway.config
    await withFolder(async (folder) => {
      const secret = join(folder, 'secret')
      writeFileSync(secret, canary)
      const paths = [
        secret,
        dataDir,
        join(dataDir, 'headgate.yaml'),
        process.cwd(),
        '/etc/shadow',
        '/root',
        '/home',
      ]
      for (const path of paths) {
        const { exitCode, stdout } = await run(`cat '${path}' || ls '${path}'`)
        expect({ path, exitCode, stdout }).toEqual({ path, exitCode: 2, stdout: '' })
      }
      expect((await run(`cd /; find / -xdev -name secret 2>/dev/null`)).stdout).toBe('')
    })
  })

  test('sees only its own processes, and cannot signal others', async () => {
    const { stdout } = await run(`ls /proc | grep -c '^[0-9]'; kill -0 ${process.pid} && echo reached`)
    expect(Number(stdout.trim())).toBeLessThan(10)
    await run('kill -9 -1')
    expect((await run('echo alive')).stdout).toBe('alive\n')
  })

  test.each([
    ['mount', 'mount -t tmpfs none /tmp'],
    ['a bind mount', 'mount --bind / /workspace/home'],
    ['an unmount', 'umount /tmp'],
    ['a remount', 'mount -o remount,rw /usr'],
    ['a user namespace', 'unshare --user true'],
    ['a mount namespace', 'unshare --mount true'],
    ['chroot', 'chroot / true'],
    ['a device', 'mknod disk b 8 0'],
    ['a new owner', 'touch f && chown 0 f'],
    ['another user', 'su root -c true || setpriv --reuid 0 true'],
    ['a write to the system', 'touch /usr/x || touch /etc/x || touch /x || touch /dev/x || touch /run/x'],
    ['a write to /proc/sys', 'echo x > /proc/sys/kernel/core_pattern'],
    ['the kernel log', 'dmesg'],
    ['the memory of the machine', 'head -c 1 /dev/mem || head -c 1 /dev/kmem || head -c 1 /proc/kcore'],
    ['a block device', 'ls /dev/sd* /dev/vd* /dev/nvme* /dev/loop* /dev/mapper /dev/kvm'],
    ['higher limits', 'ulimit -u 10000 || ulimit -v unlimited'],
    ['a hard link to the system', 'ln /etc/passwd p || ln /run/headgate/command c'],
  ])('is refused %s', async (_, command) => {
    const { exitCode, stdout } = await run(command)
    expect(exitCode).not.toBe(0)
    expect(stdout).toBe('')
  })

  test('a file with the setuid bit gives no rights', async () => {
    const { stdout } = await run('cp /usr/bin/id own-id; chmod 4755 own-id; ./own-id -u; rm own-id')
    expect(stdout).toBe('1000\n')
    expect((await run('passwd --status root')).exitCode).not.toBe(0)
  })

  test('inherits no file of the gateway', async () => {
    const { stdout } = await run('ls -l /proc/$$/fd > fds; grep -o "[0-9]* -> .*" fds')
    const inherited = stdout.split('\n').filter((line) => !/^[012] -> |^$/.test(line))
    expect(inherited).toEqual(['255 -> /run/headgate/command'])
  })

  test('cannot reach a server on this machine, by loopback or unix socket', async () => {
    let connections = 0
    const listener = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { open: () => void connections++, data: () => undefined },
    })
    try {
      const { exitCode } = await run(`exec 3<>/dev/tcp/127.0.0.1/${listener.port}`)
      expect(exitCode).not.toBe(0)
      expect((await run('cat /proc/net/dev | grep -c :')).stdout).toBe('1\n')
      expect(connections).toBe(0)
    } finally {
      listener.stop(true)
    }
  })

  test('a fork bomb ends at the limit of processes', async () => {
    const { stderr, stopReason, timedOut } = await run('f() { f | f & }; f; sleep 2; true', {
      timeoutMs: 8000,
    })
    expect(stderr).toContain('fork')
    expect(stopReason === null || timedOut).toBe(true)
    expect((await run('echo alive')).stdout).toBe('alive\n')
  })

  test('memory of one process, and of all together, is bounded', async () => {
    const one = await run('head -c 600m /dev/zero | tail')
    expect(one.exitCode).not.toBe(0)
    // Without pipelines: six of them at once could reach the limit of processes instead.
    const hogs = 'for i in 1 2 3 4 5 6; do (printf -v x %060000000d 0; sleep 15) & done; wait; echo survived'
    const all = await run(hogs)
    expect(all.stdout).not.toContain('survived')
    expect(all.stopReason).toBe('memory')
  })

  test('addresses that are reserved and not used are no memory: JavaScript runs', async () => {
    expect((await run('ulimit -d; ulimit -v')).stdout).toBe(`${256 * 1024}\n${(256 + 16 * 1024) * 1024}\n`)
    const { stdout } = await run(
      'if command -v node > /dev/null; then node --eval "console.log(1)"; else echo 1; fi',
    )
    expect(stdout).toBe('1\n')
  })

  test('a huge file is cut off at the size of a home', async () => {
    const { exitCode } = await run('head -c 100m /dev/zero > big')
    expect(exitCode).not.toBe(0)
    const { stdout } = await run('stat -c %s big; rm big')
    expect(Number(stdout)).toBeLessThanOrEqual(8 * mib)
  })

  test('a command that fills the disk is ended, and the home can be cleaned up', async () => {
    const filled = await run(
      'for i in {1..60}; do head -c 1m /dev/urandom > f$i; sleep 0.1; done; echo survived',
    )
    expect(filled).toMatchObject({ stopReason: 'disk', exitCode: 137 })
    expect((await run('sleep 1; rm f*; echo clean')).stdout).toBe('clean\n')
    const files = await run(
      'mkdir many; for i in {1..150}; do mkdir many/$i; touch many/$i/f; done; sleep 3; echo survived',
    )
    expect(files.stopReason).toBe('disk')
    expect((await run('rm -r many; echo clean')).stdout).toBe('clean\n')
  })

  test('files that are deleted but open count', async () => {
    const open =
      'exec 5>x 6>y; rm x y; head -c 6m /dev/urandom >&5; head -c 6m /dev/urandom >&6; sleep 15; echo survived'
    expect(await run(open)).toMatchObject({ stopReason: 'disk', stdout: '' })
  })

  test('no command runs while the disk of the machine is almost full', async () => {
    const { containers } = server.gateway.settings
    Object.assign(containers, { min_free_bytes: Number.MAX_SAFE_INTEGER })
    const problem = await run('true').catch((error) => error.code)
    Object.assign(containers, { min_free_bytes: 0 })
    expect(problem).toBe('unavailable')
  })

  test('/tmp and /dev/shm are small and do not outlast the command', async () => {
    const { stdout } = await run(
      'head -c 10m /dev/zero > /tmp/a || head -c 10m /dev/zero > /dev/shm/a || echo full',
    )
    expect(stdout).toBe('full\n')
    expect((await run('ls /tmp /dev/shm')).stdout).toBe('/dev/shm:\n\n/tmp:\n')
  })

  test('output is cut off with a notice, and a flood ends the command', async () => {
    const { stdout } = await run('head -c 10000 /dev/zero | tr "\\0" a; echo end >&2')
    expect(stdout).toBe(`${'a'.repeat(4096)}\n[output truncated: 10000 bytes in total]\n`)
    expect((await run('echo 123456', { maxOutputLength: 3 })).stdout).toBe(
      '123\n[output truncated: 7 bytes in total]\n',
    )
    const flood = await run('yes')
    expect(flood).toMatchObject({ stopReason: 'output', exitCode: 137 })
    expect(flood.stdout.length).toBeLessThan(5000)
  })

  test('a flood of output, files and processes does not hold the event loop', async () => {
    const delay = await measureLoopDelay(250, async () => {
      await run('yes')
      await run('for i in {1..150}; do echo x > loop$i; done; f() { f | f & }; f; sleep 1', {
        timeoutMs: 4000,
      })
    })
    expect(delay).toBeLessThan(250)
    await run('rm -f loop*')
  })

  test('a timeout ends processes that ignore signals or left their session', async () => {
    const mark = `9${Date.now()}`
    const command = `trap '' TERM INT HUP; (setsid bash -c 'trap "" TERM; sleep ${mark}' &) ; sleep ${mark}`
    const { timedOut, exitCode } = await run(command, { timeoutMs: 500 })
    expect({ timedOut, exitCode }).toEqual({ timedOut: true, exitCode: 137 })
    expect(findProcesses(mark)).toEqual([])
  })

  test('a process that outlives its command ends with it', async () => {
    const mark = `8${Date.now()}`
    const { exitCode, elapsedMs } = await run(`setsid nohup sleep ${mark} >/dev/null 2>&1 & disown; exit 0`)
    expect(exitCode).toBe(0)
    expect(elapsedMs).toBeLessThan(15_000)
    await waitUntil(() => findProcesses(mark).length === 0)
  })

  test('the caller can cancel', async () => {
    const controller = new AbortController()
    const mark = `7${Date.now()}`
    const running = run(`sleep ${mark}`, { signal: controller.signal })
    await waitUntil(() => findProcesses(mark).length > 0)
    controller.abort()
    expect(await running).toMatchObject({ stopReason: 'cancelled', exitCode: 137 })
    expect(findProcesses(mark)).toEqual([])
  })

  test('the home is a plain folder: links that lead out are only links', async () => {
    const { dataDir } = server.gateway.config
    await run(`ln -s ${dataDir}/headgate.yaml settings; ln -s / root; ln -s ${dataDir} data`)
    expect((await run('cat settings; ls root/workspace; ls data/')).stdout).toBe('home\n')
    const homes = join(dataDir, 'containers', 'homes')
    const [home = ''] = readdirSync(homes).filter((name) => existsSync(join(homes, name, 'note.txt')))
    expect(readlinkSync(join(homes, home, 'root'))).toBe('/')
  })
})
