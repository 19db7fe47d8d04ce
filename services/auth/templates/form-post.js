// A field may be called "submit", which would hide the form's own method.
HTMLFormElement.prototype.submit.call(document.forms[0]);
