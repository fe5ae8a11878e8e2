import type { Provider } from '../provider.ts'
import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { compatibleProviders } from './compatible.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'
import { sandbox } from './sandbox/sandbox.ts'
import { vertex } from './vertex.ts'

/** Every provider known without configuration. A provider is an object here, or an entry in compatible.ts. */
export const providers: Provider[] = [
  anthropic,
  openai,
  google,
  vertex,
  azure,
  bedrock,
  ...compatibleProviders,
  sandbox,
]
