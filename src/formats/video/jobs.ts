import type { VideoJobFormat } from '../../catalog/provider.ts'
import { asNumber, asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { VideoCall, VideoProgress } from '../call/video.ts'
import { decodeError } from '../chat/error.ts'
import { clipReason, type VideoWireFormat } from './wire-format.ts'

/** The shape that most video APIs share, with the names that a provider declares. */
export function createJobsWireFormat(format: VideoJobFormat): VideoWireFormat {
  return {
    name: 'video-jobs',
    defaults: { headers: {} },
    acceptsAudio: format.fields.audio !== undefined,
    decodeError,

    encodeRequest(call, { model, options }) {
      const body: JsonObject = { ...options, model }
      const dropped: string[] = []
      for (const [field, name] of fieldNames) {
        const value = readField(call, field)
        if (value === null) continue
        const target = format.fields[field]
        if (target === undefined && field !== 'audio') dropped.push(name)
        else if (target !== undefined) setPath(body, target, value)
      }
      const path = call.previous && format.continuation ? format.continuation.path : format.submit
      if (call.previous && format.continuation) setPath(body, format.continuation.field, call.previous.url)
      // A size repeats the resolution and the aspect ratio.
      const isSized = format.fields.size !== undefined || format.fields.resolution !== undefined
      return {
        path,
        headers: {},
        body,
        dropped: isSized ? dropped.filter((name) => !sizeNames.has(name)) : dropped,
      }
    },

    findProblem({ previous, references }) {
      if (references.some(({ kind }) => kind !== 'image'))
        return { field: 'input_references', problem: 'must be images for the provider of this model' }
      if (previous === null || format.continuation) return null
      return { field: 'previous_job_id', problem: 'is not supported by the provider of this model' }
    },

    decodeSubmission(body) {
      return asString(getPath(body, format.id)) || null
    },

    buildPollPath(upstreamId) {
      return format.poll.replace('{id}', encodeURIComponent(upstreamId))
    },

    decodeProgress(body) {
      const state = asString(getPath(body, format.state)) ?? ''
      const status = Object.hasOwn(format.states, state) ? format.states[state] : undefined
      if (status === undefined) return null
      if (status === 'completed') return decodeCompleted(body, format)
      if (status === 'pending' || status === 'in_progress')
        return { status, percent: asNumber(getPath(body, format.percent ?? '')) ?? null }
      return { status, message: clipReason(asString(getPath(body, format.error))) }
    },
  }
}

const sizeNames: ReadonlySet<string> = new Set(['size', 'resolution', 'aspect_ratio'])

type JobField = keyof VideoJobFormat['fields']

/** The fields of a call, and their names in the API. */
const fieldNames: readonly [JobField, string][] = [
  ['prompt', 'prompt'],
  ['duration', 'duration'],
  ['resolution', 'resolution'],
  ['aspectRatio', 'aspect_ratio'],
  ['size', 'size'],
  ['audio', 'generate_audio'],
  ['seed', 'seed'],
  ['creativity', 'creativity'],
  ['upscaleFactor', 'upscale_factor'],
  ['firstFrame', 'frame_images.first_frame'],
  ['lastFrame', 'frame_images.last_frame'],
  ['references', 'input_references'],
]

function readField(call: VideoCall, field: JobField): unknown {
  if (field === 'references')
    return call.references.length > 0 ? call.references.map(({ url }) => ({ url })) : null
  return call[field] === '' ? null : call[field]
}

function decodeCompleted(body: JsonObject, format: VideoJobFormat): VideoProgress | null {
  const url = asString(getPath(body, format.url))
  if (!url) return null
  const seconds = Number(getPath(body, format.seconds ?? ''))
  const tokens = asNumber(getPath(body, format.tokens ?? ''))
  return {
    status: 'completed',
    urls: [url],
    seconds: seconds > 0 ? seconds : null,
    tokens: tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null,
  }
}

/** `video.url` */
function getPath(body: JsonObject, path: string): unknown {
  return path === ''
    ? undefined
    : path.split('.').reduce<unknown>((value, name) => asObject(value)?.[name], body)
}

function setPath(body: JsonObject, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let target = body
  for (const name of names) {
    const inner = asObject(target[name]) ?? {}
    target[name] = inner
    target = inner
  }
  target[last] = value
}
