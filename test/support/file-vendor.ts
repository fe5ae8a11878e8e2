import { newId } from '../../src/platform/crypto/ids.ts'

type VendorName = 'anthropic' | 'openai'

interface KeptFile {
  id: string
  filename: string
  type: string
  purpose: string | null
  expiry: string | null
  bytes: Uint8Array
  createdAt: number
}

/** A request as it arrived. */
interface SeenRequest {
  method: string
  path: string
  query: string
  headers: Headers
}

/** The file storages of two vendors, at `/anthropic` and `/openai`, each with a separate list for each key. */
export class FileVendors {
  readonly requests: SeenRequest[] = []
  /** The next response, instead of the vendor's own. */
  failure: Response | null = null
  readonly #files = new Map<string, KeptFile[]>()
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: 4 * 1024 ** 3,
    fetch: (request) => this.#respond(request),
  })

  get url(): string {
    return this.#server.url.origin
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  /** `providers` of headgate.yaml. */
  get providers(): object[] {
    return [
      { slug: 'anthropic', base_url: `${this.url}/anthropic/v1` },
      { slug: 'openai', base_url: `${this.url}/openai/v1` },
    ]
  }

  filesOf(vendor: VendorName, key: string): KeptFile[] {
    const name = `${vendor} ${key}`
    const files = this.#files.get(name) ?? []
    this.#files.set(name, files)
    return files
  }

  async #respond(request: Request): Promise<Response> {
    const { pathname, searchParams, search } = new URL(request.url)
    const [, vendor, , , id, content] = pathname.split('/')
    this.requests.push({ method: request.method, path: pathname, query: search, headers: request.headers })
    const failure = this.failure
    this.failure = null
    if (failure) return failure
    if (request.method === 'HEAD') return new Response(null)
    if (vendor === 'anthropic' && !request.headers.get('anthropic-beta')?.includes('files-api-2025-04-14'))
      return vendorError(vendor, 404, 'not_found_error', 'Not found')
    const files = this.filesOf(vendor as VendorName, keyOf(request))
    const describe = vendor === 'anthropic' ? toAnthropic : toOpenAi
    if (request.method === 'POST') {
      const file = await readForm(request)
      files.push(file)
      return Response.json(describe(file))
    }
    if (id === undefined) return listPage(files, searchParams, describe)
    const file = files.find((one) => one.id === id)
    if (!file) return vendorError(vendor ?? '', 404, 'not_found_error', `No such File object: ${id}`)
    if (content) return sendBytes(file, request)
    if (request.method === 'GET') return Response.json(describe(file))
    files.splice(files.indexOf(file), 1)
    const deleted = vendor === 'anthropic' ? { type: 'file_deleted' } : { object: 'file', deleted: true }
    return Response.json({ id, ...deleted })
  }
}

function keyOf({ headers }: Request): string {
  return headers.get('x-api-key') ?? headers.get('authorization')?.replace('Bearer ', '') ?? ''
}

async function readForm(request: Request): Promise<KeptFile> {
  const body = await request.bytes()
  const form = await new Response(body, { headers: request.headers }).formData()
  // The runtime takes the type of a file from its name.
  const type = /filename="[^"]*"\r\ncontent-type: ([^\r\n]+)/i.exec(Buffer.from(body).toString('latin1'))?.[1]
  const file = form.get('file')
  if (!(file instanceof File)) throw new Error('the form has no file')
  return {
    id: newId('file'),
    filename: file.name,
    type: type ?? '',
    purpose: form.get('purpose')?.toString() ?? null,
    expiry: form.get('expires_after[seconds]')?.toString() ?? null,
    bytes: await file.bytes(),
    createdAt: Date.now(),
  }
}

function listPage(files: KeptFile[], query: URLSearchParams, describe: (file: KeptFile) => object): Response {
  const after = query.get('after') ?? query.get('after_id')
  const start = files.findIndex(({ id }) => id === after) + 1
  const page = files.slice(start, start + Number(query.get('limit') ?? 20))
  return Response.json({
    object: 'list',
    data: page.map(describe),
    has_more: start + page.length < files.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  })
}

function sendBytes({ bytes }: KeptFile, request: Request): Response {
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get('range') ?? '') ?? []
  if (start === undefined || end === undefined) return new Response(bytes)
  const headers = { 'content-range': `bytes ${start}-${end}/${bytes.length}` }
  return new Response(bytes.slice(Number(start), Number(end) + 1), { status: 206, headers })
}

function toAnthropic({ id, filename, type, bytes, createdAt }: KeptFile) {
  const created_at = new Date(createdAt).toISOString()
  return {
    id,
    type: 'file',
    filename,
    mime_type: type,
    size_bytes: bytes.length,
    created_at,
    downloadable: false,
  }
}

function toOpenAi({ id, filename, purpose, bytes, createdAt }: KeptFile) {
  const created_at = Math.floor(createdAt / 1000)
  return { id, object: 'file', filename, bytes: bytes.length, created_at, purpose, status: 'processed' }
}

export function vendorError(vendor: string, status: number, type: string, message: string): Response {
  const error = { type, message }
  return Response.json(vendor === 'anthropic' ? { type: 'error', error } : { error }, { status })
}
