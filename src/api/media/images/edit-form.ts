import type { ImageSource } from '../../../formats/call/images.ts'
import type { AttachedImages } from '../../../formats/images/decode.ts'
import { type ImageOptions, imageEditOptions } from '../../../formats/images/schema.ts'
import { maxImageReferences } from '../../../formats/vocabulary.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { bodyPaceOf } from '../../../platform/http/body-reader.ts'
import { type FormPart, readFormParts } from '../../../platform/http/multipart.ts'
import { tryParseJson } from '../../../platform/json/json.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { readBase64Image } from '../../../platform/media/base64-image.ts'
import { validateInput } from '../../../platform/validation/validate-input.ts'

export interface EditForm {
  body: ImageOptions
  attached: AttachedImages
}

/** Maximum bytes of a text, longer than any prompt a vendor accepts. */
const maxTextBytes = 256 * 1024
const maxParts = 64

/** The fields of a form with files, as the OpenAI SDKs send edits: `image`, `image[]` and `mask` are files. */
export async function readEditForm(gateway: Gateway, request: Request): Promise<EditForm> {
  const fields: JsonObject = {}
  const references: AttachedImages['references'] = []
  let mask: ImageSource | undefined
  let parts = 0
  const limits = { maxBytes: gateway.settings.limits.body_bytes, pace: bodyPaceOf(gateway) }
  for await (const part of readFormParts(request, limits)) {
    if (++parts > maxParts) throw invalidFieldError('body', `must have at most ${maxParts} fields`)
    if (/^image(?:\[\d*\])?$/.test(part.name)) {
      if (references.length === maxImageReferences)
        throw invalidFieldError('image', `must be at most ${maxImageReferences} images`)
      references.push({ field: 'image', source: await readImage(part, limits.maxBytes) })
    } else if (part.name === 'mask' ? mask : Object.hasOwn(fields, part.name))
      throw invalidFieldError(part.name.slice(0, 100), 'must be sent once')
    else if (part.name === 'mask') mask = await readImage(part, limits.maxBytes)
    else fields[part.name] = parseText(part.name, (await readBytes(part, maxTextBytes)).toString('utf8'))
  }
  if (references.length === 0) throw invalidFieldError('image', 'is required')
  const body = validateInput(imageEditOptions, fields, 'body')
  return { body, attached: { references, ...(mask && { mask }) } }
}

async function readImage(part: FormPart, maxBytes: number): Promise<ImageSource> {
  const data = (await readBytes(part, maxBytes)).toString('base64')
  const info = readBase64Image(data)
  const field = part.name === 'mask' ? 'mask' : 'image'
  if (!info) throw invalidFieldError(field, 'must be a file: PNG, JPEG, WebP, GIF or SVG')
  return { kind: 'data', mediaType: info.mediaType, data }
}

async function readBytes({ name, body }: FormPart, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw gatewayError('body_too_large', `${name}: is longer than ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const numberFields = new Set(['n', 'output_compression', 'seed', 'partial_images'])

/** Forms have only text; the schema of the JSON body checks what it stands for. */
function parseText(name: string, text: string): unknown {
  if (numberFields.has(name)) return text.trim() === '' ? text : Number(text)
  if (name === 'stream') return text === 'true' ? true : text === 'false' ? false : text
  if (name !== 'provider') return text
  const value = tryParseJson(text)
  if (value === undefined) throw invalidFieldError('provider', 'must be a JSON object')
  return value
}
