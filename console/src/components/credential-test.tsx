import { Alert, Button, type ButtonProps, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { Schemas } from '../api/client.ts'
import { formatDuration } from '../format/number.ts'
import { ErrorNotice } from './error-notice.tsx'

type Outcome = Schemas['CredentialTest']

/** Runs a test of a credential; the state is shown by `CredentialTestResult`. */
export function useCredentialTest(run: () => Promise<{ data?: { data: Outcome } }>) {
  return useMutation({
    mutationFn: async () => {
      const { data } = await run()
      if (!data) throw new Error('The server sent no result.')
      return data.data
    },
  })
}

type Test = ReturnType<typeof useCredentialTest>

interface TestButtonProps extends Pick<ButtonProps, 'size' | 'disabled'> {
  test: Test
  /** The accessible name, for screen readers that read the button without its context. */
  label?: string
}

export function CredentialTestButton({ test, label, ...look }: TestButtonProps) {
  return (
    <Button
      size="compact-xs"
      variant="default"
      {...look}
      loading={test.isPending}
      onClick={() => test.mutate()}
      {...(label && { 'aria-label': label })}
    >
      Test
    </Button>
  )
}

/** Shows the step that failed, its meaning and a remedy. Empty before the first test. */
export function CredentialTestResult({ test }: { test: Test }) {
  if (test.error !== null) return <ErrorNotice error={test.error} />
  if (!test.data) return null
  const { ok, message, remedy, model, duration_ms: duration, provider_message: words } = test.data
  return (
    <Alert color={ok ? 'teal' : 'red'} role="status" title={ok ? 'It works' : titleOf(test.data)}>
      <Stack gap={4}>
        <Text size="sm">
          {message} {remedy}
        </Text>
        {words && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            The provider says: “{words}”
          </Text>
        )}
        {model && (
          <Text size="xs" c="dimmed">
            {model}
            {duration !== null && ` · ${formatDuration(duration)}`}
          </Text>
        )}
      </Stack>
    </Alert>
  )
}

const stepTitles: Record<NonNullable<Outcome['failed_step']>, string> = {
  model: 'Model not found',
  credential: 'Credential not usable',
  dns: 'Host not found',
  connection: 'No connection',
  tls: 'Certificate not trusted',
  timeout: 'No answer in time',
  authentication: 'Credential refused',
  permission: 'Not permitted',
  payment: 'No credit at the provider',
  rate_limit: 'Rate limit reached',
  request: 'Request refused',
  provider: 'The provider failed',
  reply: 'Unexpected answer',
}

function titleOf({ failed_step: step, status }: Outcome): string {
  const title = step ? stepTitles[step] : 'It failed'
  return status === null ? title : `${title} (${status})`
}
