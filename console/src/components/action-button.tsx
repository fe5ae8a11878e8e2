import { Button, type ButtonProps } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { type ReactNode, useState } from 'react'
import { ErrorNotice } from './error-notice.tsx'

interface ActionButtonProps extends Pick<ButtonProps, 'color' | 'variant' | 'disabled' | 'size'> {
  children: ReactNode
  /** The accessible name, for screen readers that read the button without its context. */
  label?: string
  onAction: () => Promise<unknown>
}

/** Does something at once that can be undone. A failure is shown as a notification. */
export function ActionButton({ children, label, onAction, ...look }: ActionButtonProps) {
  const [isPending, setPending] = useState(false)
  const act = async () => {
    setPending(true)
    try {
      await onAction()
    } catch (failure) {
      notifications.show({ message: <ErrorNotice error={failure} />, autoClose: false, withBorder: true })
    } finally {
      setPending(false)
    }
  }
  return (
    <Button
      size="xs"
      variant="default"
      {...look}
      loading={isPending}
      onClick={() => void act()}
      {...(label && { 'aria-label': label })}
    >
      {children}
    </Button>
  )
}
