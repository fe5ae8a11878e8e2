import { Button, FileButton, Group, Pill, Stack, Text, Textarea } from '@mantine/core'
import { getHotkeyHandler } from '@mantine/hooks'
import { useState } from 'react'
import { ApiError } from '../../api/error.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { attachFile, maxAttachments } from './attach.ts'
import type { Attachment } from './request.ts'

interface ComposerProps {
  draft: string
  attachments: Attachment[]
  isRunning: boolean
  /** The reason nothing can be sent now. */
  problem: string | undefined
  canAttach: boolean
  onDraft: (draft: string) => void
  onAttachments: (edit: (attachments: Attachment[]) => Attachment[]) => void
  onSend: () => void
  onStop: () => void
}

/** The editor of the next message. */
export function Composer({ draft, attachments, isRunning, problem, ...props }: ComposerProps) {
  const canSend = !isRunning && problem === undefined && (draft.trim() !== '' || attachments.length > 0)
  const send = () => canSend && props.onSend()
  return (
    <Stack gap="xs">
      <Textarea
        label="Message"
        placeholder="Ask something"
        autosize
        minRows={3}
        maxRows={14}
        value={draft}
        onChange={(event) => props.onDraft(event.currentTarget.value)}
        onKeyDown={getHotkeyHandler([['mod+Enter', send]])}
      />
      {attachments.length > 0 && (
        <Group gap={4}>
          {attachments.map(({ id, name }) => (
            <Pill
              key={id}
              withRemoveButton
              removeButtonProps={{ 'aria-label': `Remove ${name}`, 'aria-hidden': false, tabIndex: 0 }}
              onRemove={() => props.onAttachments((all) => all.filter((other) => other.id !== id))}
            >
              {name}
            </Pill>
          ))}
        </Group>
      )}
      <Group gap="xs">
        {isRunning ? (
          <Button color="red" onClick={props.onStop}>
            Stop
          </Button>
        ) : (
          <Button onClick={send} disabled={!canSend}>
            Send
          </Button>
        )}
        {props.canAttach && <AttachButton count={attachments.length} onAttachments={props.onAttachments} />}
        <Text size="xs" c={problem ? 'red' : 'dimmed'}>
          {problem ?? 'Press Ctrl+Enter or ⌘+Enter to send'}
        </Text>
      </Group>
    </Stack>
  )
}

function AttachButton({ count, onAttachments }: { count: number } & Pick<ComposerProps, 'onAttachments'>) {
  const [isPending, setPending] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const attach = async (files: File[]) => {
    setPending(true)
    setError(null)
    try {
      for (const file of files.slice(0, maxAttachments - count)) {
        const attachment = await attachFile(file)
        onAttachments((all) => [...all, attachment])
      }
    } catch (failure) {
      setError(failure)
    }
    setPending(false)
  }
  return (
    <>
      <FileButton
        multiple
        onChange={(files) => void attach(files)}
        inputProps={{ 'aria-label': 'Files to attach' }}
      >
        {(button) => (
          <Button variant="default" loading={isPending} disabled={count >= maxAttachments} {...button}>
            Attach
          </Button>
        )}
      </FileButton>
      {error instanceof ApiError && <ErrorNotice error={error} />}
      {error !== null && !(error instanceof ApiError) && (
        <Text size="xs" c="red" role="alert">
          {error instanceof Error ? error.message : String(error)}
        </Text>
      )}
    </>
  )
}
