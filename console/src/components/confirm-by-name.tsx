import { Button, Code, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { ErrorNotice } from './error-notice.tsx'

interface ConfirmByNameProps {
  title: string
  /** The text that the person has to type. */
  name: string
  action: string
  /** A description of the loss. */
  children: ReactNode
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

/** Confirms an action that cannot be undone: the name must be typed first. */
export function ConfirmByName({ title, name, action, children, onConfirm, onClose }: ConfirmByNameProps) {
  const [typed, setTyped] = useState('')
  const [isPending, setPending] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const confirm = async () => {
    setPending(true)
    try {
      await onConfirm()
      onClose()
    } catch (failure) {
      setError(failure)
      setPending(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (typed === name && !isPending) void confirm()
        }}
      >
        <Stack>
          <Text size="sm" component="div">
            {children}
          </Text>
          <TextInput
            label={
              <>
                Type <Code>{name}</Code> to confirm
              </>
            }
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            data-autofocus
            autoComplete="off"
          />
          {error !== null && <ErrorNotice error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red" disabled={typed !== name} loading={isPending}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
