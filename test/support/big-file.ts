import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { program } from './program.ts'
import { formatS3Settings, hasS3, newS3Options } from './s3.ts'

const mebibyte = 1024 * 1024
const key = 'management-key-of-the-big-files'

export interface Transfer {
  uploadedBytes: number
  downloadedBytes: number
  /** Growth of the server's resident memory above its level before the transfer. */
  growthBytes: number
}

/** The kinds of storage, and headgate.yaml of a server with files of this size. */
export function listBigFileSettings(mebibytes: number): [string, string][] {
  const limits = { max_bytes: mebibytes * mebibyte }
  const disk: [string, string] = ['disk', `files: ${JSON.stringify(limits)}\n`]
  return hasS3 ? [disk, ['S3', formatS3Settings(newS3Options(), limits)]] : [disk]
}

/** Uploads a file to a server in a process of its own, and downloads it again. `settings` is its headgate.yaml. */
export function transferFile(mebibytes: number, settings: string): Promise<Transfer> {
  return withServer(settings, (url, pid) => measureTransfer({ url, pid, mebibytes, query: '' }))
}

/** Transfers a file, like `transferFile`, to the file storage of a vendor. */
export async function transferVendorFile(mebibytes: number): Promise<Transfer> {
  const vendor = startFileSink()
  const providers = [{ slug: 'openai', base_url: `${vendor.url.origin}/v1` }]
  const files = { max_bytes: mebibytes * mebibyte }
  try {
    return await withServer(JSON.stringify({ providers, files }), async (url, pid) => {
      await fetch(`${url}/byok`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ provider: 'openai', key: 'own-key-0123456789' }),
      })
      return measureTransfer({ url, pid, mebibytes, query: '?provider=vendor_b' })
    })
  } finally {
    await vendor.stop(true)
  }
}

/** A vendor that counts the bytes of an upload, keeps none, and sends as many for a download. */
function startFileSink() {
  let bytes = 0
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: async (request) => {
      if (request.method === 'GET') return new Response(buildStream('', bytes / mebibyte, ''))
      let received = 0
      for await (const chunk of request.body ?? []) received += chunk.byteLength
      // Without the rest of the form.
      bytes = Math.floor(received / mebibyte) * mebibyte
      const file = { id: 'file-1', object: 'file', filename: 'big.txt', bytes, created_at: 0 }
      return Response.json({ ...file, purpose: 'user_data', status: 'processed' })
    },
  })
}

async function withServer<T>(settings: string, work: (url: string, pid: number) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-big-'))
  writeFileSync(join(folder, 'headgate.yaml'), settings)
  const server = Bun.spawn([...program, 'serve'], {
    cwd: folder,
    env: { PORT: '0', LOG_LEVEL: 'silent', HEADGATE_DATA_DIR: folder, HEADGATE_MANAGEMENT_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    return await work(await readUrl(server.stdout), server.pid)
  } finally {
    server.kill('SIGKILL')
    await server.exited
    rmSync(folder, { recursive: true })
  }
}

interface Journey {
  url: string
  pid: number
  mebibytes: number
  query: string
}

async function measureTransfer(journey: Journey): Promise<Transfer> {
  // Code and buffers of a first request are not part of the growth.
  await sendThrough({ ...journey, mebibytes: 1 })
  const memory = new MemoryWatch(journey.pid)
  const sent = await sendThrough(journey)
  return { ...sent, growthBytes: memory.stop() }
}

async function readUrl(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const chunk of output) {
    text += new TextDecoder().decode(chunk)
    const url = /Base URL: (\S+)/.exec(text)?.[1]
    if (url) return url
  }
  throw new Error(`the server did not start: ${text}`)
}

async function sendThrough({ url, mebibytes, query }: Journey) {
  const headers = { authorization: `Bearer ${key}` }
  const uploaded = await fetch(`${url}/files${query}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
    body: buildForm(mebibytes),
  })
  if (uploaded.status !== 200) throw new Error(`the upload failed: ${await uploaded.text()}`)
  const { id, size_bytes: uploadedBytes } = (await uploaded.json()) as { id: string; size_bytes: number }
  const downloaded = await fetch(`${url}/files/${id}/content${query}`, { headers })
  let downloadedBytes = 0
  for await (const chunk of downloaded.body ?? []) downloadedBytes += chunk.byteLength
  return { uploadedBytes, downloadedBytes }
}

/** A form with a text file. */
function buildForm(mebibytes: number): ReadableStream<Uint8Array> {
  const start = '--b\r\nContent-Disposition: form-data; name="file"; filename="big.txt"\r\n\r\n'
  return buildStream(start, mebibytes, '\r\n--b--\r\n')
}

/** Builds this many mebibytes of text between two other texts, made as they are read. */
function buildStream(start: string, mebibytes: number, end: string): ReadableStream<Uint8Array> {
  const chunk = Buffer.alloc(mebibyte, 'a line of text\n')
  let pulled = 0
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const at = pulled++
      if (at === 0) return controller.enqueue(Buffer.from(start))
      if (at <= mebibytes) return controller.enqueue(chunk)
      controller.enqueue(Buffer.from(end))
      controller.close()
    },
  })
}

class MemoryWatch {
  readonly #pid: number
  readonly #level: number
  #peak = 0
  readonly #timer: ReturnType<typeof setInterval>

  constructor(pid: number) {
    this.#pid = pid
    this.#level = this.#measure()
    this.#timer = setInterval(() => {
      this.#peak = Math.max(this.#peak, this.#measure())
    }, 10)
  }

  stop(): number {
    clearInterval(this.#timer)
    return this.#peak - this.#level
  }

  #measure(): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) * 1024
  }
}
