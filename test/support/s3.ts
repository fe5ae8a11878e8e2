import { newId } from '../../src/platform/crypto/ids.ts'
import type { S3Options } from '../../src/platform/files/s3-store.ts'

const url = process.env.TEST_S3_URL ? new URL(process.env.TEST_S3_URL) : null

/** The test runner fails in CI when there is no S3 server. */
export const hasS3 = url !== null

/** A part of the bucket that nobody else uses. */
export function newS3Options(): S3Options {
  if (!url) throw new Error('there is no S3 server')
  return {
    endpoint: url.origin,
    bucket: url.pathname.slice(1),
    region: 'us-east-1',
    accessKeyId: url.username,
    secretAccessKey: url.password,
    prefix: `${newId('test')}/`,
  }
}

/** `files` of headgate.yaml. */
export function formatS3Settings(options: S3Options, limits: Record<string, number> = {}): string {
  return `files: ${JSON.stringify({ ...limits, s3: toSettings(options) })}\n`
}

export function toSettings({ accessKeyId, secretAccessKey, ...rest }: S3Options) {
  return { ...rest, access_key_id: accessKeyId, secret_access_key: secretAccessKey }
}
