import { Alert, Button, Checkbox, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { CodeBlock } from './copy.tsx'
import { WarningIcon } from './icons.tsx'

interface SecretOnceProps {
  title: string
  secret: string
  /** The purpose of the secret. */
  children?: ReactNode
  onClose: () => void
}

/** A secret that the server shows only now: the dialog closes after the person says that it is stored. */
export function SecretOnce({ title, secret, children, onClose }: SecretOnceProps) {
  const [isStored, setStored] = useState(false)
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Alert color="orange" icon={<WarningIcon />}>
          Copy it now. It cannot be shown again.
        </Alert>
        {children}
        <CodeBlock code={secret} label="Copy the secret" />
        <Checkbox
          label="I have stored it"
          checked={isStored}
          onChange={(event) => setStored(event.currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button onClick={onClose} disabled={!isStored}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
