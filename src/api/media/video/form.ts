import { type VideoRequestBody, videoRequest } from '../../../formats/video/schema.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { bodyPaceOf } from '../../../platform/http/body-reader.ts'
import { type FormPart, readFormParts } from '../../../platform/http/multipart.ts'
import { asObject, type JsonObject } from '../../../platform/json/json-values.ts'
import { readImageSize } from '../../../platform/media/image-info.ts'
import { validateInput } from '../../../platform/validation/validate-input.ts'

/** Maximum fields, more than any request has. */
const maxFields = 100

/** The request as the OpenAI SDKs send it: `a[b]` is a field of an object, and a picture becomes a data URL. */
export async function readVideoForm(gateway: Gateway, request: Request): Promise<VideoRequestBody> {
  const body: JsonObject = {}
  let count = 0
  const limits = { maxBytes: gateway.settings.limits.body_bytes, pace: bodyPaceOf(gateway) }
  for await (const part of readFormParts(request, limits)) {
    if (++count > maxFields) throw invalidFieldError('body', `must have at most ${maxFields} fields`)
    setField(body, part.name, await readValue(part))
  }
  return validateInput(videoRequest, body, 'body')
}

function setField(body: JsonObject, name: string, value: string): void {
  const [, outer, inner] = /^(\w{1,64})\[(\w{1,64})\]$/.exec(name) ?? []
  if (outer && inner) body[outer] = { ...asObject(body[outer]), [inner]: value }
  else if (Object.hasOwn(body, name)) throw invalidFieldError(name.slice(0, 100), 'must be sent once')
  else body[name] = value
}

async function readValue({ name, filename, body }: FormPart): Promise<string> {
  const bytes = Buffer.concat(await Array.fromAsync(body))
  if (filename === undefined) return bytes.toString('utf8')
  const image = readImageSize(bytes)
  if (!image) throw invalidFieldError(name.slice(0, 100), 'must be a PNG, JPEG, WebP or GIF image')
  return `data:image/${image.type};base64,${bytes.toString('base64')}`
}
