import { joinBytes } from '../text/join-bytes.ts'

/** A field of a multipart/form-data body. */
export type FormField = FormText | FormFile

export interface FormText {
  name: string
  value: string
}

export interface FormFile {
  name: string
  filename: string
  contentType: string
  bytes: Uint8Array
}

/** A multipart/form-data body (RFC 7578). */
export async function encodeForm(
  fields: readonly FormField[],
): Promise<{ contentType: string; body: Uint8Array<ArrayBuffer> }> {
  const boundary = `headgate-${crypto.randomUUID()}`
  const parts = fields.flatMap((field) => [
    Buffer.from(`--${boundary}\r\n${encodeHead(field)}\r\n\r\n`),
    'bytes' in field ? field.bytes : Buffer.from(field.value),
    lineEnd,
  ])
  const body = await joinBytes([...parts, Buffer.from(`--${boundary}--\r\n`)])
  return { contentType: `multipart/form-data; boundary=${boundary}`, body }
}

/** A file of a form that is read as it is sent. */
export interface StreamedFormFile extends Omit<FormFile, 'bytes'> {
  length: number
  open(): ReadableStream<Uint8Array>
}

/** Encodes a form whose file is too large for memory, as `encodeForm` does smaller ones. */
export function encodeStreamedForm(
  file: StreamedFormFile,
  texts: readonly FormText[],
): { contentType: string; length: number; open(): ReadableStream<Uint8Array> } {
  const boundary = `headgate-${crypto.randomUUID()}`
  const encodeStart = (head: string) => `--${boundary}\r\n${head}\r\n\r\n`
  const fields = texts.map((field) => `${encodeStart(encodeHead(field))}${field.value}\r\n`).join('')
  const start = Buffer.from(fields + encodeStart(encodeFileHead(file)))
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: start.length + file.length + end.length,
    open: () => streamChunks(joinChunks(start, file, end)),
  }
}

async function* joinChunks(
  start: Uint8Array,
  file: StreamedFormFile,
  end: Uint8Array,
): AsyncGenerator<Uint8Array> {
  yield start
  yield* file.open()
  yield end
}

/** Reads a chunk only when the next one is needed. */
function streamChunks(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => {
        await chunks.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}

const lineEnd = Buffer.from('\r\n')

function encodeHead(field: FormField): string {
  return 'bytes' in field ? encodeFileHead(field) : encodeDisposition(field)
}

function encodeDisposition({ name }: { name: string }): string {
  return `content-disposition: form-data; name="${escapeQuoted(name)}"`
}

function encodeFileHead(file: Omit<FormFile, 'bytes'>): string {
  const type = file.contentType.replace(/[\r\n]/g, '')
  return `${encodeDisposition(file)}; filename="${escapeQuoted(file.filename)}"\r\ncontent-type: ${type}`
}

/** Escapes quotes and line breaks as browsers do. */
function escapeQuoted(text: string): string {
  return text.replace(/["\r\n]/g, (character) => encodeURIComponent(character))
}
