import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useRef, useState } from 'react'
import { curlOf } from '../../api/call.ts'
import { useOptionalSession } from '../../app/session.tsx'
import { goToSignIn } from '../../app/sign-in.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Panel } from '../../components/panel.tsx'
import { findRefusal } from './access.ts'
import type { ApiDocument, Operation } from './document.ts'
import { baseUrlOf, callOfDraft, createDraft, type Draft, findProblem } from './draft.ts'
import { DraftForm } from './draft-form.tsx'
import { ReplyView } from './reply-view.tsx'
import { type Reply, sendDraft } from './send.ts'

interface TryItProps {
  document: ApiDocument
  operation: Operation
}

/** A form for the request, the request as a command, and the reply. */
export function TryIt({ document, operation }: TryItProps) {
  const session = useOptionalSession()
  const [draft, setDraft] = useState(() => createDraft(document, operation))
  const command = curlOf(callOfDraft(operation, draft), baseUrlOf(operation, globalThis.document.baseURI))
  const refusal = findRefusal(session, operation)
  return (
    <Panel title="Try it">
      <DraftForm document={document} operation={operation} draft={draft} onChange={setDraft} />
      <CodeBlock code={command} label="Copy as curl" />
      {refusal === 'signed_out' && (
        <Group>
          <Button size="xs" onClick={goToSignIn}>
            Sign in to try
          </Button>
        </Group>
      )}
      {refusal === 'permission' && (
        <Alert color="gray" role="status">
          Your role does not have the permission {operation['x-headgate-permission']}
          {operation['x-headgate-scope'] && ' in the whole organization'}. An admin can give it to you.
        </Alert>
      )}
      {refusal === null && <Sender operation={operation} draft={draft} />}
    </Panel>
  )
}

function Sender({ operation, draft }: { operation: Operation; draft: Draft }) {
  const { reply, error, isSending, send, stop } = useSender(operation, draft)
  const [isAsking, setAsking] = useState(false)
  const problem = findProblem(operation, draft)
  const isRead = operation.method === 'GET'
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Button
          size="xs"
          disabled={problem !== null || isSending}
          onClick={() => (isRead ? void send() : setAsking(true))}
        >
          Send
        </Button>
        {isSending && (
          <Button size="xs" variant="default" onClick={stop}>
            Stop
          </Button>
        )}
        {problem && (
          <Text size="sm" c="dimmed">
            {problem}
          </Text>
        )}
      </Group>
      {error !== null && <ErrorNotice error={error} />}
      {reply && <ReplyView reply={reply} name={operation.id} />}
      {isAsking && (
        <FormDialog
          title="Send this request?"
          action="Send"
          onClose={() => setAsking(false)}
          onSubmit={async () => void send()}
        >
          <Text size="sm">
            {operation.method} {operation.path} is sent as you. It may change or delete something, or cost
            money, and cannot be undone here.
          </Text>
        </FormDialog>
      )}
    </Stack>
  )
}

function useSender(operation: Operation, draft: Draft) {
  const [reply, setReply] = useState<Reply | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isSending, setSending] = useState(false)
  const abort = useRef<AbortController | null>(null)
  const send = async () => {
    const controller = new AbortController()
    abort.current = controller
    setReply(null)
    setError(null)
    setSending(true)
    try {
      await sendDraft(operation, draft, controller.signal, setReply)
    } catch (failure) {
      if (controller.signal.aborted)
        setReply((current) => current && { ...current, isDone: true, isCut: true })
      else setError(failure)
    } finally {
      setSending(false)
    }
  }
  return { reply, error, isSending, send, stop: () => abort.current?.abort() }
}
