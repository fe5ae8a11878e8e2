import { S3Client } from 'bun'
import { defineDestination, secretField, textField, urlField } from './destination.ts'

/** Longer than the timeout of a delivery. */
const signatureSeconds = 300

export const s3 = defineDestination({
  type: 's3',
  fields: {
    bucketName: textField.regex(/^[a-z0-9][a-z0-9.-]{0,62}$/i, 'must be the name of a bucket'),
    accessKeyId: textField,
    secretAccessKey: secretField,
    region: textField.regex(/^[a-z0-9-]+$/, 'must be the name of a region').optional(),
    endpoint: urlField.optional().describe('For S3-compatible storage'),
    sessionToken: secretField.optional(),
    prefix: textField.default('service-traces'),
    pathTemplate: textField
      .default('{prefix}/{date}')
      .describe('Placeholders: {prefix} {date} {year} {month} {day} {apiKeyName}. The file name is appended'),
  },
  secrets: ['secretAccessKey', 'sessionToken'],
  address: 'endpoint',
  target: ({ endpoint, region }) => endpoint ?? `https://s3.${region ?? 'us-east-1'}.amazonaws.com`,
  probe: (config, target) => {
    const signer = new S3Client({
      // Normalized: the client would parse an unusual spelling differently.
      endpoint: new URL(target).href,
      bucket: config.bucketName,
      accessKeyId: config.accessKeyId,
      secretAccessKey: config.secretAccessKey,
      region: config.region ?? (config.endpoint === undefined ? 'us-east-1' : 'auto'),
      ...(config.sessionToken !== undefined && { sessionToken: config.sessionToken }),
    })
    const file = `${config.prefix}/headgate-connection-test.json`
    return {
      request: {
        url: signer.presign(file, { method: 'PUT', expiresIn: signatureSeconds }),
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"test":true}',
      },
    }
  },
})
