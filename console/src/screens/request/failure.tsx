import { Alert, List, Stack, Text } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'

type Explanation = Schemas['RequestExplanation']
type Attempt = Explanation['attempts'][number]

/** Shows the failure in the words of each provider that was tried. Empty for a request that did not fail. */
export function Failure({ explanation }: { explanation: Explanation }) {
  const { status, error_code, attempts } = explanation
  const failed = attempts.filter(isFailed)
  if (failed.length === 0) return null
  const isServed = status === 'completed'
  return (
    <Alert
      color={isServed ? 'yellow' : 'red'}
      title={isServed ? 'Another provider failed first' : `Failed: ${error_code ?? 'the reply broke off'}`}
    >
      <List size="sm" spacing="xs">
        {failed.map((attempt) => (
          <List.Item key={`${attempt.tag} ${attempt.started} ${attempt.outcome}`}>
            <FailedAttempt attempt={attempt} />
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

function isFailed({ outcome }: Attempt): boolean {
  return outcome !== 'completed' && outcome !== 'cancelled'
}

function FailedAttempt({ attempt }: { attempt: Attempt }) {
  const { provider, model, status, outcome, provider_code, message } = attempt
  const facts = [
    status === null ? null : `HTTP ${status}`,
    outcome === 'failed' ? null : outcome,
    provider_code === outcome ? null : provider_code,
  ].filter((fact) => fact !== null)
  return (
    <Stack gap={0}>
      <Text size="sm" fw={600}>
        {provider} · {model}
        {facts.length > 0 && ` (${facts.join(', ')})`}
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {message ?? explainSilence(outcome)}
      </Text>
    </Stack>
  )
}

const accountOutcomes = ['authentication', 'permission_denied', 'payment_required', 'not_found']

function explainSilence(outcome: string): string {
  return accountOutcomes.includes(outcome)
    ? 'The provider rejected the server credential. The operator can see the message.'
    : 'The provider gave no message.'
}
