import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ScratchHome {
  home: string
  work: string
  /** First lines of requests to other machines. */
  blockedRequests: string[]
  environment: Record<string, string>
  close(): void
}

/** A temporary home, and a proxy that blocks everything that would leave this machine. */
export async function openScratchHome(): Promise<ScratchHome> {
  const home = mkdtempSync(join(tmpdir(), 'headgate-agents-'))
  const work = join(home, 'work')
  mkdirSync(work)
  const blockedRequests: string[] = []
  const proxy = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      blockedRequests.push(data.toString().split('\r\n')[0] ?? '')
      socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const close = () => {
    proxy.close()
    rmSync(home, { recursive: true, force: true })
  }
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TERM: 'dumb',
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
  }
  return { home, work, blockedRequests, environment, close }
}

/** The time limit of a program. */
export const programTimeoutMs = 90_000

export async function runProgram(
  home: ScratchHome,
  command: string[],
  environment: Record<string, string>,
): Promise<{ code: number; output: string; errors: string }> {
  const child = Bun.spawn(command, {
    cwd: home.work,
    env: { ...home.environment, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: programTimeoutMs,
    killSignal: 'SIGKILL',
  })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, output, errors }
}
