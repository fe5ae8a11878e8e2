import { afterAll, describe, expect, test } from 'bun:test'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bwrapPath, findProcesses, waitUntil } from '../../test/support/containers.ts'
import { ConfigError } from '../config.ts'
import { Bubblewrap } from './bubblewrap.ts'
import type { NetworkPolicy } from './environment.ts'
import { withNetwork } from './network.ts'
import { toSandboxLimits } from './run-command.ts'
import { buildSeccompFilter } from './seccomp.ts'
import { containerSettings } from './settings.ts'

const settings = containerSettings.parse({ ...(bwrapPath !== null && { bwrap: bwrapPath }) })
const limits = toSandboxLimits(settings)

describe('the check at the start', () => {
  const findProblem = async (change: Partial<typeof settings>) => {
    const engine = new Bubblewrap({ ...settings, ...change })
    try {
      await engine.check(limits)
      return null
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      return error instanceof Error ? error.message : ''
    } finally {
      await engine.close()
    }
  }

  test('names the program that is missing, and what to do', async () => {
    const problem = await findProblem({ bwrap: 'no-such-program' })
    const expected =
      process.platform === 'linux'
        ? 'containers.engine: bubblewrap cannot be used: the program no-such-program was not found. Install bubblewrap, or set containers.bwrap.'
        : 'containers.engine: bubblewrap cannot be used: it needs Linux.'
    expect(problem).toBe(expected)
  })

  test.skipIf(bwrapPath === null)('runs a command with the settings', async () => {
    expect(await findProblem({})).toBeNull()
    expect(await findProblem({ system: ['/usr/share'] })).toStartWith(
      'containers.engine: bubblewrap cannot be used: a test command failed: ',
    )
  })
})

test.skipIf(bwrapPath === null)('a command ends with the gateway, even if that is killed', async () => {
  const mark = `6${Date.now()}`
  const script = `
    import { Bubblewrap } from '${import.meta.dir}/bubblewrap.ts'
    const engine = new Bubblewrap(${JSON.stringify({ bwrap: bwrapPath, system: settings.system, uid: settings.uid })})
    await engine.start({ home: '/tmp', command: 'sleep ${mark}', limits: ${JSON.stringify(limits)}, proxySocket: null })
    await new Promise(() => setInterval(() => undefined, 1000))`
  const folder = mkdtempSync(join(tmpdir(), 'headgate-killed-'))
  const gateway = Bun.spawn([process.execPath, '-e', script], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  await waitUntil(() => findProcesses(`sleep\0${mark}`).length > 0)
  gateway.kill('SIGKILL')
  await waitUntil(() => findProcesses(`sleep\0${mark}`).length === 0)
  rmSync(folder, { recursive: true })
})

test.skipIf(bwrapPath === null)(
  'a command that is killed while its sandbox is set up leaves nothing',
  async () => {
    const engine = new Bubblewrap(settings)
    const home = mkdtempSync(join(tmpdir(), 'headgate-home-'))
    if (engine.owner !== null) chownSync(home, engine.owner, engine.owner)
    for (let turns = 0; turns < 60; turns++) {
      const started = await engine.start({ home, command: 'sleep 60', limits, proxySocket: null })
      // A little later each time, so that every step of the setup is hit.
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      started.kill()
      await Promise.all([new Response(started.stdout).text(), started.exited])
    }
    await waitUntil(() => findProcesses(home).length === 0)
    await engine.close()
    rmSync(home, { recursive: true })
  },
)

test('the system call filter is a whole number of instructions, for known architectures', () => {
  for (const architecture of ['x64', 'arm64']) {
    const filter = buildSeccompFilter(architecture)
    expect((filter?.length ?? 1) % 8).toBe(0)
  }
  expect(buildSeccompFilter('riscv64')).toBeNull()
})

describe.skipIf(bwrapPath === null)('the network of a sandbox', () => {
  const engine = new Bubblewrap(settings)
  const home = mkdtempSync(join(tmpdir(), 'headgate-home-'))
  if (engine.owner !== null) chownSync(home, engine.owner, engine.owner)
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket, data) => void socket.end(`echo ${data}`) },
  })
  afterAll(async () => {
    server.stop(true)
    await engine.close()
    rmSync(home, { recursive: true })
  })

  const egress = {
    allowPrivate: [`allowed.test:${server.port}`],
    resolve: async (host: string) => (host === 'allowed.test' ? ['127.0.0.1'] : []),
  }
  const run = (policy: NetworkPolicy, command: string) =>
    withNetwork(policy, egress, async (proxySocket) => {
      const started = await engine.start({ home, command, limits, proxySocket })
      const [stdout, exitCode] = await Promise.all([new Response(started.stdout).text(), started.exited])
      return { stdout, exitCode }
    })
  const connect = (host: string) =>
    `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT ${host}:${server.port} HTTP/1.1\\r\\n\\r\\nhello' >&3; cat <&3`

  test('an allowed domain is reached through the proxy, and nothing else', async () => {
    const policy: NetworkPolicy = { type: 'allowlist', allowed_domains: ['allowed.test'] }
    expect((await run(policy, connect('allowed.test'))).stdout).toEndWith('\r\n\r\necho hello')
    expect((await run(policy, connect('other.test'))).stdout).toStartWith('HTTP/1.1 403 ')
    const direct = await run(policy, `exec 3<>/dev/tcp/127.0.0.1/${server.port}`)
    expect(direct.exitCode).not.toBe(0)
    expect((await run(policy, 'echo $HTTPS_PROXY; cat /proc/net/dev | grep -c :')).stdout).toBe(
      'http://127.0.0.1:3128\n1\n',
    )
  })

  test('without allowed domains there is no proxy', async () => {
    const { exitCode, stdout } = await run({ type: 'disabled' }, connect('allowed.test'))
    expect(exitCode).not.toBe(0)
    expect(stdout).toBe('')
    expect((await run({ type: 'disabled' }, 'ls /run/headgate; echo $HTTPS_PROXY')).stdout).toBe(
      'command\n\n',
    )
  })
})
