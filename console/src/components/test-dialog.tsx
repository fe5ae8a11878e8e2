import { Alert, Button, Group, Modal, type ModalProps, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

interface TestDialogProps<Result> {
  title: string
  /** A description of the test. */
  intro: ReactNode
  action: string
  size?: ModalProps['size']
  /** Null if there is nothing to test. */
  onTest: (() => Promise<{ data?: { data: Result } }>) | null
  onClose: () => void
  /** Renders the result of the last test. */
  children: (result: Result) => ReactNode
}

/** Tests the connection to another system, as often as somebody asks for it. */
export function TestDialog<Result>(props: TestDialogProps<Result>) {
  const { title, intro, action, size = 'md', onTest, onClose, children } = props
  const test = useMutation({ mutationFn: async () => (await onTest?.())?.data?.data ?? null })
  return (
    <Modal opened onClose={onClose} title={title} size={size} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        {intro}
        {test.error !== null && <ErrorNotice error={test.error} />}
        {test.data && children(test.data)}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          {onTest && (
            <Button loading={test.isPending} onClick={() => test.mutate()}>
              {action}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  )
}

interface TestOutcomeProps {
  isAccepted: boolean
  children: ReactNode
}

/** Shows whether another system accepted a test, and its answer. */
export function TestOutcome({ isAccepted, children }: TestOutcomeProps) {
  return (
    <Alert
      role="status"
      color={isAccepted ? 'teal' : 'red'}
      title={isAccepted ? 'The test was accepted' : 'The test was not accepted'}
    >
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </Alert>
  )
}
