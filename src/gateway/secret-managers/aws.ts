import { readFileSync } from 'node:fs'
import { AwsV4Signer } from 'aws4fetch'
import type { Environment } from '../../config.ts'
import { asString } from '../../platform/json/json-values.ts'
import {
  parseAddress,
  requestJson,
  requireVariable,
  SecretError,
  type SecretManager,
} from './secret-manager.ts'

const name = 'AWS Secrets Manager'
const service = 'secretsmanager'
/** The address of the credentials of a task on ECS, to which a relative path is appended. */
const taskOrigin = 'http://169.254.170.2'

/** AWS Secrets Manager. The path is the name or the ARN of a secret. */
export const awsSecretsManager: SecretManager = {
  prefix: 'aws-sm',
  read: readSecret,
}

async function readSecret(path: string, environment: Environment): Promise<string> {
  const region = regionOf(path) ?? findRegion(environment)
  const endpoint = environment.AWS_ENDPOINT_URL_SECRETS_MANAGER || environment.AWS_ENDPOINT_URL
  const url = endpoint
    ? parseAddress('AWS_ENDPOINT_URL', endpoint)
    : new URL(`https://${service}.${region}.${isChinese(region) ? 'amazonaws.com.cn' : 'amazonaws.com'}/`)
  const body = JSON.stringify({ SecretId: path })
  const signer = new AwsV4Signer({
    method: 'POST',
    url: url.href,
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `${service}.GetSecretValue` },
    body,
    service,
    region,
    ...(await findCredentials(environment)),
  })
  const { headers } = await signer.sign()
  const isChosen = Boolean(endpoint)
  const reply = await requestJson(name, {
    url,
    method: 'POST',
    headers: Object.fromEntries(headers),
    body,
    isChosen,
  })
  const text = asString(reply.SecretString)
  if (text !== undefined) return text
  const bytes = asString(reply.SecretBinary)
  if (bytes !== undefined) return Buffer.from(bytes, 'base64').toString()
  throw new SecretError(`${name} returned no value.`)
}

/** `arn:aws:secretsmanager:eu-west-1:...` */
function regionOf(path: string): string | undefined {
  return /^arn:[\w-]+:secretsmanager:([\w-]+):/.exec(path)?.[1]
}

function findRegion({ AWS_REGION, AWS_DEFAULT_REGION }: Environment): string {
  const region = AWS_REGION || AWS_DEFAULT_REGION
  if (region && /^[a-z0-9-]+$/.test(region)) return region
  throw new SecretError('AWS_REGION must be a region such as eu-west-1.')
}

function isChinese(region: string): boolean {
  return region.startsWith('cn-')
}

interface AwsCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

/** The variables of an access key, or the credentials of a task on ECS or a pod on EKS. */
async function findCredentials(environment: Environment): Promise<AwsCredentials> {
  const { AWS_CONTAINER_CREDENTIALS_FULL_URI: full, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative } =
    environment
  if (!environment.AWS_ACCESS_KEY_ID && (full || relative)) {
    const url = full
      ? parseAddress('AWS_CONTAINER_CREDENTIALS_FULL_URI', full)
      : new URL(relative ?? '', taskOrigin)
    return fetchContainerCredentials(url, environment)
  }
  const sessionToken = environment.AWS_SESSION_TOKEN
  return {
    accessKeyId: requireVariable(environment, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: requireVariable(environment, 'AWS_SECRET_ACCESS_KEY'),
    ...(sessionToken && { sessionToken }),
  }
}

async function fetchContainerCredentials(url: URL, environment: Environment): Promise<AwsCredentials> {
  const token = readAuthorization(environment)
  const reply = await requestJson('The endpoint of container credentials', {
    url,
    method: 'GET',
    headers: token ? { authorization: token } : {},
    isChosen: true,
  })
  const [accessKeyId, secretAccessKey, sessionToken] = [
    reply.AccessKeyId,
    reply.SecretAccessKey,
    reply.Token,
  ].map(asString)
  if (!accessKeyId || !secretAccessKey)
    throw new SecretError('The endpoint of container credentials returned no access key.')
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
}

/** EKS replaces the file while the pod runs. */
function readAuthorization({
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: path,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
}: Environment): string | undefined {
  if (!path) return token
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    throw new SecretError('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names a file that cannot be read.')
  }
}
