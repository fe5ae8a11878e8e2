import { Button, CopyButton } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery } from '@tanstack/react-query'
import { apiUrl } from '../../api/base-url.ts'
import { curlOf } from '../../api/call.ts'
import { type Schemas, sessionHeaders } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { encodePrompt } from '../../components/playground-link.ts'
import { type Repeat, repeatOf } from '../../components/repeat-request.ts'
import { promptOf } from './repeat.ts'

interface RequestActionsProps {
  request: Schemas['LoggedRequest']
  content: Schemas['GenerationContent']
  onRepeat: (id: string) => void
}

/** Actions on a stored prompt. */
export function RequestActions({ request, content, onRepeat }: RequestActionsProps) {
  const session = useSession()
  const model = request.requested_model ?? request.model
  // A prompt that was cut would be another request.
  const repeat = content.truncated ? null : repeatOf(request.format, model, content.input)
  const fragment = useQuery({
    queryKey: ['playground link', request.id],
    queryFn: () => encodePrompt(promptOf(model, content.input)),
  })
  const run = useMutation({
    mutationFn: send,
    onSuccess: (id) => id && onRepeat(id),
    onError: ({ message }) => notifications.show({ color: 'red', title: 'Run again', message }),
  })
  return (
    <>
      {repeat && mayDo(session, 'inference:write') && (
        <Button
          size="xs"
          variant="default"
          title="Sends the stored prompt as a new request, which is charged. Other parameters are not stored."
          loading={run.isPending}
          onClick={() => run.mutate(repeat)}
        >
          Run again
        </Button>
      )}
      {fragment.data && (
        <Button
          size="xs"
          variant="default"
          component="a"
          href={new URL(`playground#${fragment.data}`, document.baseURI).href}
        >
          Open in playground
        </Button>
      )}
      {repeat && (
        <CopyButton value={curlOf({ method: 'POST', path: repeat.path, body: repeat.body })}>
          {({ copied, copy }) => (
            <Button size="xs" variant="default" onClick={copy}>
              {copied ? 'Copied' : 'Copy as curl'}
            </Button>
          )}
        </CopyButton>
      )}
    </>
  )
}

/** Returns the id of the new request. */
async function send({ path, body }: Repeat): Promise<string | null> {
  const response = await fetch(`${apiUrl()}${path}`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json', ...sessionHeaders() },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw await ApiError.from(response)
  await response.body?.cancel()
  return response.headers.get('x-generation-id')
}
