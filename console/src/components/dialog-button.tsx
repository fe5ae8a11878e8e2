import { Button, type ButtonProps } from '@mantine/core'
import { type ReactNode, useState } from 'react'

interface DialogButtonProps extends Pick<ButtonProps, 'color' | 'variant' | 'size'> {
  label: string
  /** The accessible name, for screen readers that read the button without its context. */
  description?: string
  /** The dialog, while it is open. */
  children: (close: () => void) => ReactNode
}

/** A button that opens a dialog. */
export function DialogButton({ label, description, children, ...look }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false)
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
      {isOpen && children(() => setOpen(false))}
    </>
  )
}
