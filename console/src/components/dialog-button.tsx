import { Button, type ButtonProps } from '@mantine/core'
import { useLocation, useRouter } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'

interface DialogButtonProps extends Pick<ButtonProps, 'color' | 'variant' | 'size'> {
  label: string
  /** The accessible name, for screen readers that read the button without its context. */
  description?: string
  /** The fragment of an address that opens the dialog: `create` for `/keys#create`. */
  action?: string
  /** The dialog, while it is open. */
  children: (close: () => void) => ReactNode
}

/** A button that opens a dialog. */
export function DialogButton({ label, description, action, children, ...look }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const isNamed = useLocation({ select: ({ hash }) => action !== undefined && hash === action })
  const { history } = useRouter()
  const close = () => {
    setOpen(false)
    if (isNamed) history.replace(history.location.pathname + history.location.search)
  }
  return (
    <>
      <Button
        size="xs"
        {...look}
        onClick={() => setOpen(true)}
        {...(description && { 'aria-label': description })}
      >
        {label}
      </Button>
      {(isOpen || isNamed) && children(close)}
    </>
  )
}
