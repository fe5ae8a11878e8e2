import { apiUrl } from '../../api/base-url.ts'
import { sessionHeaders } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { formatBytes } from '../../format/number.ts'
import { type Attachment, newId } from './request.ts'

export const maxAttachments = 8
/** The whole request is sent again with every message. */
const maxImageBytes = 4_000_000
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** An image becomes a part of the request; another file is uploaded to the server. */
export async function attachFile(file: File): Promise<Attachment> {
  const id = newId()
  const { name } = file
  if (!imageTypes.includes(file.type)) return { kind: 'file', id, name, fileId: await upload(file) }
  if (file.size > maxImageBytes) {
    throw new Error(`${name} has ${formatBytes(file.size)}; an image may have ${formatBytes(maxImageBytes)}.`)
  }
  return { kind: 'image', id, name, url: await readDataUrl(file) }
}

async function upload(file: File): Promise<string> {
  const form = new FormData()
  form.set('file', file)
  const reply = await fetch(`${apiUrl()}/files`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: sessionHeaders(),
    body: form,
  })
  if (!reply.ok) throw await ApiError.from(reply)
  const { id } = (await reply.json()) as { id: string }
  return id
}

function readDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`))
    reader.readAsDataURL(file)
  })
}
