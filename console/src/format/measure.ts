import type { Schemas } from '../api/client.ts'

export type Measure = Schemas['Limit']['measure']

export const measureNames: Record<Measure, string> = {
  usd: 'Spending',
  requests: 'Requests',
  tokens: 'Tokens',
  input_tokens: 'Input tokens',
  output_tokens: 'Output tokens',
  concurrent_requests: 'Concurrent requests',
}
