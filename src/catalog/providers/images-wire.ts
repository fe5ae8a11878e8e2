import type { FormFile, FormText } from '../../platform/http/form-encode.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { WireAdapter } from '../provider.ts'

/** An image API that writes `1k` and `2k`, and takes edits as JSON with data URLs. */
export const jsonImages: WireAdapter = {
  adaptRequest: ({ path, headers, body }) => {
    const { resolution } = body
    return {
      path,
      headers,
      body: typeof resolution === 'string' ? { ...body, resolution: resolution.toLowerCase() } : body,
    }
  },
  adaptForm: (fields) => {
    const body: JsonObject = {}
    const images: JsonObject[] = []
    for (const field of fields) {
      if (!('bytes' in field)) body[field.name] = parseText(field)
      else if (field.name === 'mask') body.mask = toImageUrl(field)
      else images.push(toImageUrl(field))
    }
    return { ...body, ...(images.length === 1 ? { image: images[0] } : { images }) }
  },
  droppedFields: ['mask'],
}

function toImageUrl({ contentType, bytes }: FormFile): JsonObject {
  return { type: 'image_url', url: `data:${contentType};base64,${Buffer.from(bytes).toString('base64')}` }
}

/** Numbers and flags are texts in a form. */
function parseText({ name, value }: FormText): unknown {
  return name === 'n' || name === 'seed' || name === 'stream' ? JSON.parse(value) : value
}
