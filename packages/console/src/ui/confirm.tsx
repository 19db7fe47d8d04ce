/** A second press, so that a single one never destroys anything. */
import { type ReactNode, useRef } from 'react';
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components';

export function Confirm({
  label,
  about,
  title,
  children,
  action,
  onConfirm,
  isDisabled = false,
  isSubmit = false,
  kind = 'danger',
  size,
}: {
  label: string;
  /** In a list: what the button is about, for those who do not see the row. */
  about?: string;
  title: string;
  children: ReactNode;
  /** The second button's text: the deed itself, never "OK". */
  action: string;
  /** `button`: the first, which is where the deed belongs; the second is in a dialog. */
  onConfirm: (button: Element) => void;
  isDisabled?: boolean;
  /** The first button is the one of its form, which Enter in a field presses. */
  isSubmit?: boolean;
  /** `primary` for an action that needs confirmation but destroys nothing. */
  kind?: 'danger' | 'primary';
  size?: 'small';
}) {
  const button = useRef<HTMLButtonElement>(null);
  return (
    <DialogTrigger>
      <Button
        ref={button}
        className={['button', kind === 'danger' && kind, size].filter(Boolean).join(' ')}
        isDisabled={isDisabled}
        type={isSubmit ? 'submit' : 'button'}
        {...(about && { 'aria-label': `${label} ${about}` })}
      >
        {label}
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog role="alertdialog">
            {({ close }) => (
              <>
                <Heading slot="title">{title}</Heading>
                <div>{children}</div>
                <div className="actions">
                  <Button className="button" onPress={close} autoFocus>
                    Cancel
                  </Button>
                  <Button
                    className={`button ${kind}`}
                    onPress={() => {
                      onConfirm(button.current!);
                      close();
                    }}
                  >
                    {action}
                  </Button>
                </div>
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
