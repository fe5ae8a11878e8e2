import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { ApiError } from '../api/error.ts'
import { Id } from './copy.tsx'
import { WarningIcon } from './icons.tsx'

/** Shows an error, with the request id that the logs of the server have. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const message = error instanceof Error ? error.message : String(error)
  const requestId = error instanceof ApiError ? error.requestId : null
  return (
    <Alert color="red" icon={<WarningIcon />} title={titleOf(error)} role="alert">
      <Stack gap="xs">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {message}
        </Text>
        <Group gap="sm">
          {onRetry && (
            <Button size="xs" variant="default" onClick={onRetry}>
              Try again
            </Button>
          )}
          {requestId && (
            <Text size="xs" component="div">
              Request <Id value={requestId} label="Copy the request id" />
            </Text>
          )}
        </Group>
      </Stack>
    </Alert>
  )
}

function titleOf(error: unknown): string {
  // What `fetch` throws if there is no response.
  if (error instanceof TypeError) return 'The server cannot be reached'
  if (!(error instanceof ApiError)) return 'This cannot be done'
  if (error.status === 401) return 'Your session has ended'
  if (error.metadata.permission !== undefined) return 'Your role does not allow this'
  if (error.status === 404) return 'Not found'
  if (error.status >= 500) return 'The server could not do this'
  return 'This was refused'
}
