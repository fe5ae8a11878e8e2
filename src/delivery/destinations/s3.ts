import { AwsV4Signer } from 'aws4fetch'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { appendPath, defineDestination, secretField, textField, urlField } from './destination.ts'
import type { GenerationEvent } from './event.ts'
import { toEventJson } from './event-json.ts'

/** Validity of a signature, longer than the timeout of a delivery. */
const signatureSeconds = 300

const placeholders = ['prefix', 'date', 'year', 'month', 'day', 'apiKeyName'] as const

type Placeholders = Record<(typeof placeholders)[number], string>

const templatePattern = new RegExp(`^(?:[^{}]|\\{(?:${placeholders.join('|')})\\})+$`)

interface Bucket {
  bucketName: string
  accessKeyId: string
  secretAccessKey: string
  region?: string | undefined
  endpoint?: string | undefined
  sessionToken?: string | undefined
}

export const s3 = defineDestination({
  type: 's3',
  fields: {
    bucketName: textField.regex(/^[a-z0-9][a-z0-9.-]{0,62}$/i, 'must be the name of a bucket'),
    accessKeyId: textField,
    secretAccessKey: secretField,
    region: textField.regex(/^[a-z0-9-]+$/, 'must be the name of a region').optional(),
    endpoint: urlField.optional().describe('For S3-compatible storage'),
    sessionToken: secretField.optional(),
    prefix: textField.max(512).default('service-traces'),
    pathTemplate: textField
      .max(512)
      .regex(templatePattern, `may only have the placeholders {${placeholders.join('} {')}}`)
      .default('{prefix}/{date}')
      .describe('Placeholders: {prefix} {date} {year} {month} {day} {apiKeyName}. The file name is appended'),
  },
  secrets: ['secretAccessKey', 'sessionToken'],
  address: 'endpoint',
  target: ({ endpoint, region }) => endpoint ?? `https://s3.${region ?? 'us-east-1'}.amazonaws.com`,
  probe: async (config, target) => {
    const key = joinPath(config.prefix, 'headgate-connection-test.json')
    return { request: await buildPut(config, target, key, '{"test":true}') }
  },
  exporter: {
    // A request writes one object.
    maxEvents: 1,
    maxBytes: 1024 * 1024,
    encode: (config, target, events) => {
      const [event, ...others] = events
      if (event === undefined || others.length > 0) throw new Error('an object has exactly one event')
      const body = JSON.stringify(toEventJson(event), null, 2)
      return buildPut(config, target, buildKey(config, event), body)
    },
    // An expired token or a wrong region, for example: the object itself may be anything.
    findFailure: (status, body) =>
      status === 400 ? `The storage returned status 400: ${/<Code>(\w+)</.exec(body)?.[1] ?? ''}` : undefined,
  },
})

/**
 * The URL is signed, not the body: S3 accepts any body for it until it expires. The runtime's own client must not sign
 * it: without a session token of the bucket it takes the one of the environment, which is the operator's.
 */
async function buildPut(bucket: Bucket, target: string, key: string, body: string) {
  const { accessKeyId, secretAccessKey, sessionToken, bucketName } = bucket
  const url = new URL(appendPath(target, `/${encodeKey(`${bucketName}/${key}`)}`))
  url.searchParams.set('X-Amz-Expires', String(signatureSeconds))
  const signer = new AwsV4Signer({
    method: 'PUT',
    url: url.href,
    signQuery: true,
    service: 's3',
    region: bucket.region ?? (bucket.endpoint === undefined ? 'us-east-1' : 'auto'),
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
  })
  const signed = await signer.sign()
  return {
    url: signed.url.href,
    method: 'PUT' as const,
    headers: { 'content-type': 'application/json' },
    body,
  }
}

/** Encodes a key in the form of signatures, which escape more than other URLs. */
function encodeKey(key: string): string {
  const escapeCharacter = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return key
    .split('/')
    .map((segment) => encodeURIComponent(segment).replace(/[!'()*]/g, escapeCharacter))
    .join('/')
}

/** The same for every delivery of an event, so that a repeated one replaces its object. */
function buildKey(
  { prefix, pathTemplate }: { prefix: string; pathTemplate: string },
  event: GenerationEvent,
) {
  const date = new Date(event.startedAt).toISOString().slice(0, 10)
  const [year = '', month = '', day = ''] = date.split('-')
  const apiKeyName = toPathSegment(event.identity?.apiKeyName ?? 'unknown')
  const values: Placeholders = { prefix, date, year, month, day, apiKeyName }
  const folder = pathTemplate.replace(/\{(\w+)\}/g, (_, name: keyof Placeholders) => values[name])
  return joinPath(folder, `${event.trace.traceId}-${buildTimestamp(event)}.json`)
}

/**
 * Builds a timestamp in nanoseconds; the digits below a millisecond tell apart generations of one trace that started
 * together.
 */
function buildTimestamp({ startedAt, id }: GenerationEvent): string {
  const digits = Number.parseInt(sha256(id).slice(0, 8), 16) % 1_000_000
  return `${startedAt}${String(digits).padStart(6, '0')}`
}

/** Key names are free text. */
function toPathSegment(text: string): string {
  return text.replace(/[^\w.-]+/g, '-').slice(0, 128)
}

/** Joins paths without empty segments and those that move up, which a URL would resolve. */
function joinPath(...paths: string[]): string {
  const segments = paths.join('/').split('/')
  return segments.filter((segment) => !/^\.{0,2}$/.test(segment)).join('/')
}
