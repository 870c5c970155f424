// Search in pages that are opened from the disk: browsers start no Worker there, so a hidden frame runs its script.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        for (const data of this.waiting.splice(0)) this.hand(data);
        this.waiting = null;
      };
      inside.document.body.append(script);
    }
    hand(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.hand(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
