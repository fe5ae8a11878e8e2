import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import { ErrorNotice } from '../../../components/error-notice.tsx'

const testRequest = {
  model: 'sandbox/echo',
  messages: [{ role: 'user' as const, content: 'Hello from the console' }],
}

/** Waits for the first request, or sends one. */
export function RequestStep({ isDone }: { isDone: boolean }) {
  const queryClient = useQueryClient()
  const send = api.useMutation('post', '/chat/completions', {
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['post', '/analytics/query'] }),
  })
  return (
    <Stack maw={560}>
      {!isDone && (
        <Group gap="sm" role="status">
          <Loader size="xs" />
          <Text size="sm">Waiting for your first request. Run one of the snippets above.</Text>
        </Group>
      )}
      <Text size="sm">Or send “Hello from the console” to sandbox/echo from here.</Text>
      <Group>
        <Button variant="default" onClick={() => send.mutate({ body: testRequest })} loading={send.isPending}>
          Send a test request
        </Button>
      </Group>
      {send.isSuccess && (
        <Alert color="teal" title="sandbox/echo answered" role="status">
          {replyTextOf(send.data)}
        </Alert>
      )}
      {send.error !== null && <ErrorNotice error={send.error} />}
    </Stack>
  )
}

function replyTextOf(reply: unknown): string {
  const { choices } = reply as { choices?: { message?: { content?: unknown } }[] }
  return String(choices?.[0]?.message?.content ?? '')
}
