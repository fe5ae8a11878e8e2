import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Workshop {
  home: string
  work: string
  /** Addresses outside the loopback that were tried. */
  strayed: string[]
  environment: Record<string, string>
  close(): void
}

/** A scratch home, and a proxy that takes everything that would leave this machine and goes nowhere. */
export async function openWorkshop(): Promise<Workshop> {
  const home = mkdtempSync(join(tmpdir(), 'headgate-agents-'))
  const work = join(home, 'work')
  mkdirSync(work)
  const strayed: string[] = []
  const proxy = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      strayed.push(data.toString().split('\r\n')[0] ?? '')
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
  return { home, work, strayed, environment, close }
}

/** How long a program may take. */
export const patience = 90_000

export async function runProgram(
  workshop: Workshop,
  command: string[],
  environment: Record<string, string>,
): Promise<{ code: number; output: string; complaints: string }> {
  const child = Bun.spawn(command, {
    cwd: workshop.work,
    env: { ...workshop.environment, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: patience,
    killSignal: 'SIGKILL',
  })
  const [output, complaints] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, output, complaints }
}
