import { joinBytes } from './join-bytes.ts'

/** A field of a multipart/form-data body. */
export type FormField = FormText | FormFile

interface FormText {
  name: string
  value: string
}

interface FormFile {
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

const lineEnd = Buffer.from('\r\n')

function encodeHead(field: FormField): string {
  const disposition = `content-disposition: form-data; name="${escapeQuoted(field.name)}"`
  if (!('bytes' in field)) return disposition
  const type = field.contentType.replace(/[\r\n]/g, '')
  return `${disposition}; filename="${escapeQuoted(field.filename)}"\r\ncontent-type: ${type}`
}

/** As browsers do it. */
function escapeQuoted(text: string): string {
  return text.replace(/["\r\n]/g, (character) => encodeURIComponent(character))
}
