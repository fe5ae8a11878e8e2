import { z } from 'zod'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ImagesReply } from '../call/images.ts'
import { type TranslatedBody, translateBody } from '../client-body.ts'
import { resolutions } from '../images/geometry.ts'
import { aspectRatios, imageOptionFields } from '../images/schema.ts'
import type { MediaReplyContext } from '../media.ts'
import { providerPreferences } from '../schema/preferences.ts'
import { readField, readObjectField, toCamelCase } from './field-names.ts'
import { withSnakeCase } from './schema.ts'
import { encodeUsage } from './usage.ts'

const outputOptions = z.looseObject(
  withSnakeCase({
    mimeType: z
      .string()
      .regex(/^image\/[a-z]+$/, 'must be a type such as image/png')
      .nullish(),
    compressionQuality: imageOptionFields.output_compression,
  }),
)

/** The body of `predict` for image models: the format of Imagen. */
export const predictImagesBody = z
  .looseObject({
    instances: z.array(z.looseObject({ prompt: z.string().min(1) })).length(1, 'must have one instance'),
    parameters: z
      .looseObject(
        withSnakeCase({
          sampleCount: imageOptionFields.n,
          aspectRatio: z.enum(aspectRatios).nullish(),
          sampleImageSize: z.enum(resolutions).nullish(),
          seed: imageOptionFields.seed,
          outputOptions: outputOptions.nullish(),
        }),
      )
      .nullish(),
    provider: providerPreferences.nullish(),
  })
  .meta({ id: 'GeminiPredictImagesRequest' })

/** The fields of a body of this API, by which endpoints reject it, as they are named here. */
export const predictImageFields: Readonly<Record<string, string>> = {
  prompt: 'instances.0.prompt',
  n: 'parameters.sampleCount',
  aspect_ratio: 'parameters.aspectRatio',
  resolution: 'parameters.sampleImageSize',
  seed: 'parameters.seed',
  output_format: 'parameters.outputOptions.mimeType',
  output_compression: 'parameters.outputOptions.compressionQuality',
}

const effectiveParameters: ReadonlySet<string> = new Set([
  'sampleCount',
  'aspectRatio',
  'sampleImageSize',
  'seed',
  'outputOptions',
])

/** Translates into a body of `POST /images`. */
export function translatePredictImages(body: JsonObject): TranslatedBody {
  const [instance = {}] = asObjects(body.instances)
  for (const name of ['image', 'mask', 'referenceImages']) {
    if (readField(instance, name) !== undefined)
      throw invalidFieldError(`instances.0.${name}`, 'is not supported; edit images with POST /images/edits')
  }
  const parameters = asObject(body.parameters) ?? {}
  const output = readObjectField(parameters, 'outputOptions') ?? {}
  const translated = translateBody(body, predictImagesBody.shape, {
    prompt: instance.prompt,
    n: readField(parameters, 'sampleCount'),
    aspect_ratio: readField(parameters, 'aspectRatio'),
    resolution: readField(parameters, 'sampleImageSize'),
    seed: readField(parameters, 'seed'),
    output_format: asString(readField(output, 'mimeType'))?.replace('image/', ''),
    output_compression: readField(output, 'compressionQuality'),
  })
  const unknown = [
    ...translated.unknown,
    ...listOthers(instance, new Set(['prompt']), 'instances.0'),
    ...listOthers(parameters, effectiveParameters, 'parameters'),
  ]
  return { ...translated, unknown }
}

function listOthers(object: JsonObject, effective: ReadonlySet<string>, path: string): string[] {
  return Object.keys(object)
    .map(toCamelCase)
    .filter((name) => !effective.has(name))
    .map((name) => `${path}.${name}`)
}

/** Encodes the reply as pieces of JSON text: the images are base64 already. */
export function encodePredictImages(
  { images }: ImagesReply,
  { id, model, usage, cost, metadata }: MediaReplyContext,
): { contentType: string; text: string[] } {
  const predictions = images.flatMap(({ data, mediaType, revisedPrompt }, index) => {
    const rest = { mimeType: mediaType, ...(revisedPrompt !== undefined && { prompt: revisedPrompt }) }
    return [`${index === 0 ? '' : ','}{"bytesBase64Encoded":"`, data, `",${JSON.stringify(rest).slice(1)}`]
  })
  const rest = {
    modelVersion: model,
    responseId: id,
    usageMetadata: encodeUsage(usage, cost),
    ...(metadata && { service_metadata: metadata }),
  }
  return {
    contentType: 'application/json;charset=utf-8',
    text: ['{"predictions":[', ...predictions, `],${JSON.stringify(rest).slice(1)}`],
  }
}
