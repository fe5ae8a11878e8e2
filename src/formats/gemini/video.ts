import { z } from 'zod'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { Base64Stream } from '../../platform/text/base64-stream.ts'
import { translateBody } from '../client-body.ts'
import { providerPreferences } from '../schema/preferences.ts'
import { readField, readObjectField, toCamelCase } from './field-names.ts'

/** The body of `predictLongRunning`, for video models. */
export const predictLongRunningBody = z
  .looseObject({
    instances: z.array(z.looseObject({ prompt: z.string().nullish() })).length(1, 'must have one instance'),
    parameters: z.looseObject({}).nullish(),
    provider: providerPreferences.nullish(),
  })
  .meta({ id: 'GeminiPredictLongRunningRequest' })

/** Parameters by their names in a body of this API. */
const parameterNames: Readonly<Record<string, string>> = {
  durationSeconds: 'duration',
  aspectRatio: 'aspect_ratio',
  resolution: 'resolution',
  generateAudio: 'generate_audio',
  seed: 'seed',
}

/**
 * Translates into a body of `POST /videos`. Parameters without a counterpart retain their names and are reported as
 * dropped.
 */
export function translateVideo(body: JsonObject): JsonObject {
  const [instance = {}] = asObjects(body.instances)
  if (readField(instance, 'video') !== undefined)
    throw invalidFieldError('instances.0.video', 'is not supported; continue a job with POST /videos')
  const { body: shared, unknown } = translateBody(body, predictLongRunningBody.shape, {})
  return omitUndefined({
    ...shared,
    ...Object.fromEntries(unknown.map((name) => [name, body[name]])),
    ...translateParameters(asObject(body.parameters) ?? {}),
    ...pickOthers(instance),
    prompt: asString(instance.prompt),
    frame_images: translateFrames(instance),
    input_references: translateReferences(instance),
  })
}

const instanceFields: ReadonlySet<string> = new Set(['prompt', 'image', 'lastFrame', 'referenceImages'])

/** Picks fields without a counterpart, which are reported as dropped under their own names. */
function pickOthers(instance: JsonObject): JsonObject {
  const others = Object.entries(instance).filter(([name]) => !instanceFields.has(toCamelCase(name)))
  return Object.fromEntries(others.map(([name, value]) => [`instances.0.${toCamelCase(name)}`, value]))
}

function translateParameters(parameters: JsonObject): JsonObject {
  const fields: JsonObject = {}
  for (const [wire, value] of Object.entries(parameters)) {
    const name = toCamelCase(wire)
    if (value === null || value === undefined || (name === 'sampleCount' && value === 1)) continue
    if (name === 'sampleCount')
      throw invalidFieldError('parameters.sampleCount', 'must be 1; send a request for each video')
    fields[parameterNames[name] ?? `parameters.${name}`] = value
  }
  return fields
}

function translateFrames(instance: JsonObject): JsonObject[] | undefined {
  const frames = [
    toFrame(readObjectField(instance, 'image'), 'first_frame'),
    toFrame(readObjectField(instance, 'lastFrame'), 'last_frame'),
  ].filter((frame) => frame !== undefined)
  return frames.length > 0 ? frames : undefined
}

function toFrame(image: JsonObject | undefined, frame_type: string): JsonObject | undefined {
  return image && { type: 'image_url', image_url: { url: toDataUrl(image) }, frame_type }
}

function translateReferences(instance: JsonObject): JsonObject[] | undefined {
  const images = asObjects(readField(instance, 'referenceImages'))
    .map((reference) => readObjectField(reference, 'image'))
    .filter((image) => image !== undefined)
  if (images.length === 0) return undefined
  return images.map((image) => ({ type: 'image_url', image_url: { url: toDataUrl(image) } }))
}

/** An address in the vendor's storage is for the schema of this API to reject. */
function toDataUrl(image: JsonObject): string {
  const data = asString(readField(image, 'bytesBase64Encoded'))
  const mediaType = asString(readField(image, 'mimeType')) ?? 'image/png'
  return data === undefined
    ? (asString(readField(image, 'gcsUri')) ?? '')
    : `data:${mediaType};base64,${data}`
}

/** The state of a job as an operation. */
export interface VideoOperation {
  id: string
  model: string
  progress: number
  isDone: boolean
  /** The reason of a failure; null if the job has not failed. */
  error: string | null
  /** The videos, once it is completed. */
  urls: readonly string[]
}

/** The body of `fetchPredictOperation` in the vendor's cloud. */
export const fetchOperationBody = z
  .looseObject({
    operationName: z.string().regex(/(?:^|\/)operations\/[\w-]{1,64}$/, 'must end in operations/{id}'),
  })
  .meta({ id: 'GeminiFetchPredictOperationRequest' })

/** The id of the job that a validated request names. */
export function readOperationId(body: JsonObject): string {
  return asString(body.operationName)?.split('/').at(-1) ?? ''
}

/** The status of Google's RPC for a failure that the caller did not cause. */
const internalStatus = 13

type EncodedOperation = JsonObject & { name: string }

export function encodeVideoOperation(operation: VideoOperation): EncodedOperation {
  const generatedSamples = operation.urls.map((uri) => ({ video: { uri, encoding: 'video/mp4' } }))
  return encodeOperation(operation, `operations/${operation.id}`, {
    '@type': 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse',
    generateVideoResponse: { generatedSamples },
  })
}

/** Encodes for the vendor's cloud: an operation belongs to its model, and a completed one contains its videos. */
export function encodeCloudOperation(operation: VideoOperation, modelPath: string): EncodedOperation {
  return encodeOperation(operation, `${modelPath}/operations/${operation.id}`, {
    '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse',
    raiMediaFilteredCount: 0,
    videos: [],
  })
}

function encodeOperation(
  { model, progress, isDone, error }: VideoOperation,
  name: string,
  response: JsonObject,
): EncodedOperation {
  const isFailed = isDone && error !== null
  return {
    name,
    metadata: { model, progressPercent: progress },
    ...(isDone && { done: true }),
    ...(isFailed && { error: { code: internalStatus, message: error } }),
    ...(isDone && !isFailed && { response }),
  }
}

/** The text of a completed operation of the cloud, in parts, with the base64 of each video. */
export async function* writeCloudVideos(
  operation: EncodedOperation,
  videos: readonly AsyncIterable<Uint8Array>[],
): AsyncGenerator<string> {
  const text = JSON.stringify(operation)
  const split = text.lastIndexOf('[') + 1
  yield text.slice(0, split)
  for (const [index, video] of videos.entries()) {
    yield `${index === 0 ? '' : ','}{"mimeType":"video/mp4","bytesBase64Encoded":"`
    const encoded = new Base64Stream()
    for await (const bytes of video) yield encoded.add(bytes)
    yield `${encoded.end()}"}`
  }
  yield text.slice(split)
}
