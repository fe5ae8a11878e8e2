import { afterAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { createReadStream, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from '../../src/platform/version.ts'
import { buildPdf } from '../support/pdf.ts'

/** The folder in which `npm run test:long` made the executables of all platforms. */
const folder = process.env.HEADGATE_TEST_PACKAGE ?? ''
/** The one of this machine. */
const own = join(folder, process.env.HEADGATE_TEST_EXECUTABLE ?? '')

/** How the file of a platform begins: offsets, and the bytes that are there. */
const formats: Record<string, [number, string][]> = {
  'linux-x64': elf('3e00'),
  'linux-x64-musl': elf('3e00'),
  'linux-arm64': elf('b700'),
  'linux-arm64-musl': elf('b700'),
  'macos-x64': [[0, 'cffaedfe07000001']],
  'macos-arm64': [[0, 'cffaedfe0c000001']],
  'windows-x64.exe': [[0, '4d5a']],
}

function elf(machine: string): [number, string][] {
  return [
    [0, '7f454c46'],
    [18, machine],
  ]
}

const work = mkdtempSync(join(tmpdir(), 'headgate-package-'))
afterAll(() => rmSync(work, { recursive: true }))

describe.if(folder !== '')('the packages', () => {
  test.each(Object.entries(formats))('the executable for %s is of its format', (platform, parts) => {
    const head = readHead(join(folder, `headgate-${platform}`))
    for (const [offset, hex] of parts) expect(head.toString('hex', offset, offset + hex.length / 2)).toBe(hex)
    // The interpreter that the executable names.
    if (platform.startsWith('linux')) expect(head.includes('ld-musl')).toBe(platform.endsWith('-musl'))
    if (platform.startsWith('windows')) expect(head.readUInt16LE(head.readUInt32LE(0x3c) + 4)).toBe(0x8664)
  })

  test('every file has its checksum', async () => {
    const lines = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n')
    const sums = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]))
    const files = readdirSync(folder).filter((name) => name !== 'SHA256SUMS')
    expect([...sums.keys()].sort()).toEqual(files.sort())
    expect(files).toContain(`headgate-${version}.spdx.json`)
    for (const name of files) {
      const hash = createHash('sha256')
      for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk)
      expect(sums.get(name)).toBe(hash.digest('hex'))
    }
  })

  test('the executable serves from an empty folder, without variables', async () => {
    const server = Bun.spawn([own], { cwd: work, env: { PORT: '0' }, stdout: 'pipe', stderr: 'inherit' })
    try {
      const { url, key } = await readStart(server.stdout)
      const read = async (path: string, headers: Record<string, string> = {}) => {
        const response = await fetch(`${url}${path}`, { headers })
        expect(response.status, path).toBe(200)
        return response
      }
      const page = await (await read('/', { accept: 'text/html' })).text()
      const [, script = ''] = /src="(assets\/[^"]+)"/.exec(page) ?? []
      expect((await (await read(`/${script}`)).text()).length).toBeGreaterThan(100_000)
      expect(await (await read('/openapi.json')).json()).toHaveProperty('paths')
      expect(await (await read('/docs/limits')).text()).toContain('<h1 id="limits">')
      expect(await (await read('/signin/passkey.js')).text()).toContain('PublicKeyCredential')
      const status = (await (await read('/status')).json()) as { build: object; catalog: { models: number } }
      expect(status.build).toEqual({ commit: expect.any(String), date: expect.any(String) })
      expect(status.catalog.models).toBeGreaterThan(100)

      // Worker threads read PDFs.
      const pdf = buildPdf(['The invoice is due on Friday.']).toString('base64')
      const file = { filename: 'invoice.pdf', file_data: `data:application/pdf;base64,${pdf}` }
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model: 'sandbox/echo',
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: 'Hello' },
                { type: 'file', file },
              ],
            },
          ],
          plugins: [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }],
        }),
      })
      expect(await reply.text()).toContain('The invoice is due on Friday.')

      expect(run('keys', 'create', '--name', 'ci')).toContain('sk-hg-v1-')
      run('backup', 'headgate.tar.zst')
      expect(run('restore', '--verify-only', 'headgate.tar.zst')).toContain('The archive is complete')
      expect(run('check-ledger')).toContain('The ledger satisfies its invariants.')
    } finally {
      server.kill('SIGTERM')
    }
    expect(await server.exited).toBe(0)
  })

  test('it says what it was built from, and is also its own runtime', () => {
    expect(run('--version')).toMatch(/^\d+\.\d+\.\d+ \(commit [0-9a-f]{12}(-dirty)?, \d{4}-\d\d-\d\d, Bun /)
    const { stdout } = Bun.spawnSync([own, '-e', 'console.log(1 + 1)'], { env: { BUN_BE_BUN: '1' } })
    expect(stdout.toString()).toBe('2\n')
  })
})

function readHead(path: string): Buffer {
  const head = Buffer.alloc(64 * 1024)
  readSync(openSync(path, 'r'), head)
  return head
}

function run(...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([own, ...args], { cwd: work, env: {} })
  expect(exitCode, stderr.toString()).toBe(0)
  return stdout.toString()
}

/** The address and the inference key that the first start prints. */
async function readStart(output: ReadableStream<Uint8Array>): Promise<{ url: string; key: string }> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true })
    const [, url] = /Base URL: (\S+)\/api\/v1/.exec(text) ?? []
    const [, key] = /Inference key\s+(\S+)/.exec(text) ?? []
    if (url && key) return { url, key }
  }
  throw new Error(`The server did not start: ${text}`)
}
