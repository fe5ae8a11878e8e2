import { Button, Group, Modal, type ModalProps, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { ErrorNotice } from './error-notice.tsx'

interface FormDialogProps<Result> {
  title: string
  action: string
  /** Whether the form can be sent. */
  isReady?: boolean
  size?: ModalProps['size']
  children: ReactNode
  /** The dialog closes when this is done, and shows why if it fails. */
  onSubmit: () => Promise<Result>
  onClose: () => void
  /** A step before this one. */
  onBack?: () => void
  /** Called instead of closing, to show a result such as a secret. */
  onDone?: (result: Result) => void
}

/** A form in a dialog. */
export function FormDialog<Result>(props: FormDialogProps<Result>) {
  const { title, action, isReady = true, size = 'md', children, onSubmit, onClose, onBack } = props
  const { onDone = onClose } = props
  const [isPending, setPending] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const submit = async () => {
    setPending(true)
    setError(null)
    try {
      onDone(await onSubmit())
    } catch (failure) {
      setError(failure)
    }
    setPending(false)
  }
  return (
    <Modal opened onClose={onClose} title={title} size={size} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady && !isPending) void submit()
        }}
      >
        <Stack>
          {children}
          {error !== null && <ErrorNotice error={error} />}
          <Group justify="flex-end">
            {onBack && (
              <Button variant="default" mr="auto" onClick={onBack}>
                Back
              </Button>
            )}
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" disabled={!isReady} loading={isPending}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
